#include "heddle/kv_cache.h"

#include <nanobind/nanobind.h>

#include <cstdint>

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
      .def("code_bytes", &KvTensorLayout::code_bytes, nb::arg("pages"), nb::arg("page_tokens"),
           "Bytes of KvCacheTensor.codes.")
      .def("scale_bytes", &KvTensorLayout::scale_bytes, nb::arg("pages"), nb::arg("page_tokens"),
           "Bytes of KvCacheTensor.scales.")
      .def("residual_bytes", &KvTensorLayout::residual_bytes, nb::arg("slots"),
           "Bytes of KvCacheTensor.residual.")
      .def("code_offset", &KvTensorLayout::code_offset, nb::arg("page"), nb::arg("page_tokens"),
           nb::arg("token"), nb::arg("head"), "Byte at which the codes of a token's head begin.")
      .def("scale_offset", &KvTensorLayout::scale_offset, nb::arg("page"), nb::arg("page_tokens"),
           nb::arg("token"), nb::arg("head"), "Byte at which its scales begin.");
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
