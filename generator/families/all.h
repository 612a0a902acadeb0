// The families, each of which is defined in its folder.
#ifndef HEDDLE_GENERATOR_FAMILIES_ALL_H_
#define HEDDLE_GENERATOR_FAMILIES_ALL_H_

namespace heddle {

class Family;

const Family* tiles_family();
const Family* stream_family();
const Family* warpgroup_family();
const Family* gather_family();
const Family* dequantize_family();
const Family* repack_family();
const Family* quantize_weight_family();
const Family* kv_append_family();
const Family* decode_attention_family();

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_ALL_H_
