// The launches of all operations' handles.
#include "heddle/operations.h"
#include "runtime/launch/decode_attention_launch.h"
#include "runtime/launch/gemm_launch.h"
#include "runtime/launch/kernel_state.h"
#include "runtime/launch/kv_append_launch.h"
#include "runtime/launch/moe_launch.h"
#include "runtime/launch/row_transform_launch.h"
#include "runtime/launch/weight_op_launch.h"

namespace heddle {

template <Op kOperation, class Args>
void HandleOf<kOperation, Args>::launch(const Args& args, Stream stream) const {
  heddle::launch(kernel().state(), args, stream);
}

template class HandleOf<Op::kGemm, GemmArgs>;
template class HandleOf<Op::kDequantize, DequantizeArgs>;
template class HandleOf<Op::kRepack, RepackArgs>;
template class HandleOf<Op::kQuantizeWeight, QuantizeWeightArgs>;
template class HandleOf<Op::kKvAppend, KvAppendArgs>;
template class HandleOf<Op::kDecodeAttention, DecodeAttentionArgs>;
template class HandleOf<Op::kRowTransform, RowTransformArgs>;
template class HandleOf<Op::kMoe, MoeArgs>;

}  // namespace heddle
