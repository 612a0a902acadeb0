// The specs of all kernels that decoding a model takes. Needs no GPU; specs need no weights either.
#pragma once

#include "source.h"

// The matrices of a decoder layer but those of its experts. It has kGateUp and kDown, or kRouter
// and experts.
enum Matrix { kQkv, kO, kGateUp, kDown, kRouter };

struct Model : Source {
  // For `batch` sequences. The other arguments are Source's, and so is what it throws.
  Model(const std::string& place, const std::string& kv, std::int64_t batch, int arch = 0,
        int activation_bits = 0, heddle::TensorParallel parallel = {})
      : Source(place, kv, arch, activation_bits, parallel), sequences(batch) {
    if (batch < 1 || batch > 64) refuse("a batch has 1 to 64 sequences");
    // lm_head is for one token of each sequence, and logits are FP32.
    heddle::GemmSpec gemm = matrix_of("lm_head").gemm();
    expect("lm_head", gemm, vocabulary_part, hidden);
    gemm.shape.m_min = gemm.shape.m_max = sequences;
    gemm.output = heddle::DType::kFp32;
    head = heddle::Spec::from_gemm(gemm);
  }

  std::vector<Matrix> matrices(int layer) const {
    if (has_experts(layer)) return {kQkv, kO, kRouter};
    return {kQkv, kO, kGateUp, kDown};
  }
  std::string name_of_matrix(int layer, Matrix matrix) const {
    if (matrix == kRouter && family.router == nullptr) {
      refuse(name_of(layer) + " has experts; of the type \"" + family.model_type +
             "\" only dense layers are served, and experts of " +
             served([](const Family& one) { return one.router != nullptr; }));
    }
    const char* names[] = {"self_attn.qkv_proj", "self_attn.o_proj", "mlp.gate_up_proj",
                           "mlp.down_proj", family.router};
    return name_of(layer, names[matrix]);
  }
  // The kernel of a matrix, for the numbers of rows that it is launched with. Its sides must be
  // those of the buffers, which follow from the config.
  heddle::Spec linear(int layer, Matrix matrix) const {
    const std::string name = name_of_matrix(layer, matrix);
    heddle::GemmSpec gemm = matrix_of(name).gemm();
    const std::int64_t queries = std::int64_t{heads().heads} * heads().head_dim;
    const std::int64_t cached = std::int64_t{2} * heads().kv_heads * heads().head_dim;
    if (matrix == kQkv) expect(name, gemm, queries + cached, hidden);
    if (matrix == kO) expect(name, gemm, hidden, queries);
    if (matrix == kGateUp) expect(name, gemm, inner(layer), hidden);
    if (matrix == kDown) expect(name, gemm, hidden, inner(layer));
    if (matrix == kRouter) {
      expect(name, gemm, experts_of(layer).shape.experts, hidden);
      if (gemm.has_byte_activations()) refuse(name + " takes 8 bits, and its experts take 16");
      gemm.output = experts_of(layer).router.logits;
    }
    gemm.shape.m_min = sequences;
    gemm.shape.m_max = kChunk * sequences;
    return heddle::Spec::from_gemm(gemm);
  }
  // Columns between the two matrices of a dense layer.
  std::int64_t inner(int layer) const {
    return matrix_of(name_of_matrix(layer, kGateUp)).gemm().shape.n / 2;  // gates and ups
  }
  // The experts of a layer from the router's logits on, for as many rows.
  heddle::Spec experts(int layer) const {
    heddle::MoeSpec moe = experts_of(layer);
    if (moe.shape.hidden != hidden) refuse("experts have another width than config.json says");
    moe.shape.tokens_min = sequences;
    moe.shape.tokens_max = kChunk * sequences;
    return heddle::Spec::from_moe(moe);
  }
  // The norm ahead of a matrix, which writes X as the matrix takes it: 16 bits, or 8 with scales.
  // All but the first also add what the matrix before has made to the residual stream.
  heddle::Spec norm(const heddle::Spec& matrix, bool residual = true) const {
    heddle::RowTransformSpec row = rows(matrix);
    row.norm.type = heddle::NormType::kRms;
    row.norm.epsilon = epsilon;
    row.residual = residual;
    return heddle::Spec::from_row_transform(row);
  }
  // What makes a matrix's X, unless that is what the launch before has written.
  std::optional<heddle::Spec> before(int layer, Matrix matrix) const {
    const heddle::Spec spec = linear(layer, matrix);
    if (matrix != kO && matrix != kDown) return norm(spec, layer > 0 || matrix != kQkv);
    if (!spec.gemm().has_byte_activations()) return std::nullopt;
    return heddle::Spec::from_row_transform(rows(spec));
  }
  // Every kernel once, for Runtime::prepare(); those of the cache first.
  std::vector<heddle::Spec> specs() const {
    std::vector<heddle::Spec> all;
    std::map<std::string, bool> known;  // most layers have the same
    const auto add = [&](const heddle::Spec& spec) {
      if (known.emplace(spec.canonical_json(), true).second) all.push_back(spec);
    };
    for (const Attention& one : attentions) {
      add(one.append);
      add(one.attend);
      add(one.attend_chunk);
    }
    for (int i = 0; i < layers; ++i) {
      for (const Matrix matrix : matrices(i)) {
        add(linear(i, matrix));
        if (const auto rows = before(i, matrix)) add(*rows);
      }
      if (has_experts(i)) add(experts(i));
    }
    add(norm(head));
    add(head);
    return all;
  }
  static void expect(const std::string& name, const heddle::GemmSpec& gemm,
                     std::int64_t columns_of_y, std::int64_t columns_of_x) {
    if (gemm.output_columns() == columns_of_y && gemm.shape.k == columns_of_x) return;
    refuse(name + " makes " + std::to_string(gemm.output_columns()) + " columns of " +
           std::to_string(gemm.shape.k) + "; by config.json it makes " +
           std::to_string(columns_of_y) + " of " + std::to_string(columns_of_x));
  }

  std::int64_t sequences;
  heddle::Spec head;

 private:
  // Rows that become a matrix's X.
  heddle::RowTransformSpec rows(const heddle::Spec& matrix) const {
    const heddle::GemmSpec& gemm = matrix.gemm();
    heddle::RowTransformSpec row;
    row.shape = {gemm.shape.k, sequences, kChunk * sequences};
    row.input = activation();
    row.output.dtype = heddle::row_dtype(row.input);
    if (!gemm.has_byte_activations()) return row;
    if (gemm.activation == heddle::DType::kFp8E5m2) {
      refuse(matrix.name() + ": activations in e5m2 are not of this example");
    }
    row.output.dtype = gemm.activation == heddle::DType::kInt8 ? heddle::RowDtype::kInt8
                                                               : heddle::RowDtype::kFp8E4m3;
    row.output.granularity = gemm.activation_scale.granularity;
    row.output.symmetric = gemm.activation_scale.symmetric;
    row.output.scale_dtype = gemm.activation_scale.scale_dtype;
    if (row.output.granularity == heddle::RowGranularity::kGroup) {
      row.output.scale_layout = heddle::ScaleLayout::kColumnMajor;  // as matrices read them
    }
    return row;
  }
};
