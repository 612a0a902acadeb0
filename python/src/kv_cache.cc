#include "heddle/kv_cache.h"

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "bindings.h"
#include "errors.h"
#include "heddle/spec.h"
#include "record.h"
#include "spec_argument.h"

namespace heddle::python {
namespace {

void check_has_cache(const Spec& spec) {
  if (spec.has_cache()) return;
  refuse("kv.operation", "the spec's operation has no key-value cache", {},
         "kv_append, decode_attention");
}

// Numbers that a cache's kernels take.
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

void check_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  refuse("kv.layout", std::string(name) + " is out of range", std::to_string(value),
         std::to_string(least) + " to " + std::to_string(most));
}

void check_page(const KvTensorLayout& layout, std::int64_t page_tokens) {
  check_range("page_tokens", page_tokens, 1, kMost);
  if (page_tokens % layout.scale_tokens == 0) return;
  refuse("kv.layout", "page_tokens holds no whole blocks of tokens that share scales",
         std::to_string(page_tokens), "multiples of " + std::to_string(layout.scale_tokens));
}

std::size_t addressable(std::size_t bytes) {
  if (bytes <= PTRDIFF_MAX) return bytes;
  refuse("kv.layout", "the tensor has more bytes than a program can address", {},
         "fewer or shorter pages");
}

// The function of KvTensorLayout for so many pages.
template <auto kBytes>
std::size_t checked_bytes(const KvTensorLayout& self, std::int64_t pages,
                          std::int64_t page_tokens) {
  check_range("pages", pages, 0, kMost);
  check_page(self, page_tokens);
  return addressable((self.*kBytes)(pages, page_tokens));
}

std::size_t checked_residual_bytes(const KvTensorLayout& self, std::int64_t slots) {
  check_range("slots", slots, 0, kMost);
  return addressable(self.residual_bytes(slots));
}

// That of a place in a tensor whose pages up to this one `kBytes` counts.
template <auto kOffset, auto kBytes>
std::size_t checked_offset(const KvTensorLayout& self, std::int64_t page, std::int64_t page_tokens,
                           std::int64_t token, int head) {
  check_range("page", page, 0, kMost - 1);
  check_page(self, page_tokens);
  check_range("token", token, 0, page_tokens - 1);
  check_range("head", head, 0, self.heads - 1);
  addressable((self.*kBytes)(page + 1, page_tokens));
  return (self.*kOffset)(page, page_tokens, token, head);
}

}  // namespace

void bind_kv_cache(nb::module_& m) {
  Record<KvTensorLayout> tensor(m, "KvTensorLayout",
                                "The bytes of K, or of V: a tensor of codes and one of scales.");
  tensor.field("heads", &KvTensorLayout::heads, "Heads of a token.")
      .word("order", &KvTensorLayout::order, "\"hnd\" or \"nhd\": the order inside a page.")
      .field("row_bytes", &KvTensorLayout::row_bytes, "Of the codes of one head of one token.")
      .field("scale_heads", &KvTensorLayout::scale_heads, "Heads that have a row of scales.")
      .field("scale_row_bytes", &KvTensorLayout::scale_row_bytes, "0: no scales are stored.")
      .field("scales_of_row", &KvTensorLayout::scales_of_row, "Scales in such a row.")
      .field("scale_tokens", &KvTensorLayout::scale_tokens,
             "Neighbouring tokens that share a row of scales.")
      .field("residual_row_bytes", &KvTensorLayout::residual_row_bytes,
             "Of a row of the residual window; 0: there is none.");
  tensor.type()
      .def("code_bytes", &checked_bytes<&KvTensorLayout::code_bytes>, nb::arg("pages"),
           nb::arg("page_tokens"), "Bytes of KvCacheTensor.codes.")
      .def("scale_bytes", &checked_bytes<&KvTensorLayout::scale_bytes>, nb::arg("pages"),
           nb::arg("page_tokens"), "Bytes of KvCacheTensor.scales.")
      .def("residual_bytes", &checked_residual_bytes, nb::arg("slots"),
           "Bytes of KvCacheTensor.residual.")
      .def("code_offset",
           &checked_offset<&KvTensorLayout::code_offset, &KvTensorLayout::code_bytes>,
           nb::arg("page"), nb::arg("page_tokens"), nb::arg("token"), nb::arg("head"),
           "Byte at which the codes of a token's head begin.")
      .def("scale_offset",
           &checked_offset<&KvTensorLayout::scale_offset, &KvTensorLayout::scale_bytes>,
           nb::arg("page"), nb::arg("page_tokens"), nb::arg("token"), nb::arg("head"),
           "Byte at which its scales begin.");
  Record<KvCacheLayout>(m, "KvCacheLayout", "The bytes of a key-value cache.")
      .field("k", &KvCacheLayout::k, "K.")
      .field("v", &KvCacheLayout::v, "V.")
      .hidden(
          "token_bytes",
          [](const KvCacheLayout& self) {
            const KvTokenBytes bytes = kv_token_bytes(self);
            return bytes.codes + bytes.scales;
          },
          "Bytes that one token takes in K and V, scales included.");
  m.def(
      "kv_cache_layout",
      [](nb::handle value) {
        const Spec spec = spec_argument(value);
        check_has_cache(spec);
        return kv_cache_layout(spec.kv(), spec.kv_shape().kv_heads, spec.kv_shape().head_dim);
      },
      nb::arg("spec"),
      nb::sig("def kv_cache_layout(spec: Spec | dict[str, typing.Any] | str) -> KvCacheLayout"),
      "The bytes of the cache that a spec of kv_append or decode_attention works on.");
}

}  // namespace heddle::python
