#include "cache/bundle_format.h"

#include <stdexcept>
#include <string_view>

namespace heddle {

Digest bundle_checksum(ByteView header, ByteView index) {
  const std::string_view both[] = {as_text(header.first(kCheckedHeaderBytes)), as_text(index)};
  return digest(both);
}

void check_entry_count(std::uint64_t entries) {
  if (entries > kBundleMaxItems) throw std::length_error("a bundle holds at most 2^20 kernels");
}

BundleText BlockFiller::add(std::uint64_t length) {
  if (length == 0) return {};
  if (lengths_.empty() || lengths_.back() + length > kBundleBlockBytes) lengths_.push_back(0);
  const BundleText text{first_ + lengths_.size() - 1, lengths_.back(), length};
  lengths_.back() += length;
  return text;
}

}  // namespace heddle
