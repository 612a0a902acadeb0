#include "cache/key.h"

#include <span>
#include <string_view>

namespace heddle {
namespace {

void add_name(std::string* text, std::string_view name, std::string_view value) {
  text->append(name).append(" ").append(std::to_string(value.size())).append("\n");
}

void add_field(std::string* text, std::string_view name, std::string_view value) {
  add_name(text, name, value);
  text->append(value).append("\n");
}

// The source part but for the text, which is most of it, and the newline that follows it.
std::string source_head(const CacheKey& key) {
  std::string text;
  text.reserve(key.options.size() + 512);
  text += "heddle key 1\n";
  add_field(&text, "kernel", key.kernel_name);
  add_field(&text, "arch", key.arch);
  add_field(&text, "options", key.options);
  add_field(&text, "file", key.file_name);
  add_name(&text, "source", key.source_text);
  return text;
}

std::string source_part(const CacheKey& key) { return source_head(key) + key.source_text + "\n"; }

std::string compiler_part(const CacheKey& key) {
  std::string text;
  add_field(&text, "compiler", key.compiler);
  return text;
}

KeyDigests digests_of(std::span<const std::string_view> source, std::string_view compiler) {
  KeyDigests digests{digest(source), digest(compiler), second_digest(source), 0};
  for (const std::string_view text : source) digests.source_bytes += text.size();
  return digests;
}

}  // namespace

std::string KeyDigests::id() const { return hex(source) + "-" + hex(compiler); }

bool same_source(const KeyDigests& a, const KeyDigests& b) {
  return a.source == b.source && a.source_second == b.source_second &&
         a.source_bytes == b.source_bytes;
}

KeyDigests digests_of(std::string_view source, std::string_view compiler) {
  return digests_of(std::span(&source, 1), compiler);
}

KeyDigests CacheKey::digests() const {
  const std::string head = source_head(*this);
  const std::string_view source[] = {head, source_text, "\n"};
  return digests_of(source, compiler_part(*this));
}

std::string CacheKey::source_digest() const { return hex(digests().source); }
std::string CacheKey::compiler_digest() const { return hex(digests().compiler); }
std::string CacheKey::id() const { return digests().id(); }
std::string CacheKey::text() const { return source_part(*this) + compiler_part(*this); }

SerialKey serialize(const CacheKey& key) {
  return {source_part(key), compiler_part(key), key.digests()};
}

}  // namespace heddle
