#include "generator/operations/decode_attention/decode_attention.h"
#include "generator/operations/kv_append/kv_append.h"
#include "tests/generator/spec/spec_helpers.h"
#include "tests/generator/spec/spec_pointers.h"

namespace heddle {
namespace {

std::string append_spec(std::string_view kv, std::string_view more = "") {
  return R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":8,"head_dim":128},)"
         R"("activation":{"dtype":"bf16"},"kv":{)" +
         std::string(kv) + "}" + std::string(more) + "}";
}

std::string attention_spec(std::string_view shape, std::string_view more = "") {
  return R"({"heddle":1,"op":"decode_attention","shape":{)" + std::string(shape) +
         R"(},"activation":{"dtype":"fp16"},"kv":{})" + std::string(more) + "}";
}

Pointers kv_pointers(const std::string& json) {
  const Spec spec = Spec::parse(json);
  return pointers_of(spec.op() == Op::kKvAppend ? check_meaning(spec.kv_append())
                                                : check_meaning(spec.decode_attention()));
}

TEST(SpecKv, UsualValuesFollowFromTheType) {
  EXPECT_EQ(Spec::parse(append_spec("")).canonical_json(),
            R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":8,"head_dim":128},)"
            R"("activation":{"dtype":"bf16"},"kv":{)"
            R"("k":{"dtype":"int8","granularity":"head","group_size":0,"symmetric":true,)"
            R"("scale_dtype":"bf16"},)"
            R"("v":{"dtype":"int8","granularity":"head","group_size":0,"symmetric":true,)"
            R"("scale_dtype":"bf16"},)"
            R"("layout":"paged","page_size":64,"order":"hnd"},)"
            R"("rope":{"pairing":"none","dim":0,"source":"base","base":10000}})");
  const auto k_of = [](std::string_view kv) { return Spec::parse(append_spec(kv)).kv().k; };
  EXPECT_EQ(k_of(R"("dtype":"fp8_e4m3")").granularity, KvGranularity::kTensor);
  EXPECT_EQ(k_of(R"("dtype":"fp8_e4m3")").scale_dtype, DType::kFp32);
  EXPECT_EQ(k_of(R"("dtype":"nvfp4")").group_size, 16);
  EXPECT_EQ(k_of(R"("dtype":"nvfp4")").scale_dtype, DType::kE4m3);
  EXPECT_EQ(k_of(R"("dtype":"fp16")").granularity, KvGranularity::kNone);
  EXPECT_EQ(k_of(R"("dtype":"fp16")").scale_dtype, std::nullopt);
  EXPECT_EQ(k_of(R"("granularity":"group")").group_size, 64);
  EXPECT_EQ(k_of(R"("granularity":"channel")").group_size, 32);
}

TEST(SpecKv, KAndVMayDiffer) {
  const Spec spec = Spec::parse(append_spec(
      R"("v":{"dtype":"int4"},"dtype":"int8","symmetric":false,"k":{"symmetric":true})"));
  EXPECT_EQ(spec.kv().k.dtype, KvDtype::kInt8);
  EXPECT_TRUE(spec.kv().k.symmetric);
  EXPECT_EQ(spec.kv().v.dtype, KvDtype::kInt4);
  EXPECT_FALSE(spec.kv().v.symmetric);
}

// However it is written.
TEST(SpecKv, SameMeaningSameText) {
  const std::string canonical = Spec::parse(append_spec(R"("dtype":"int4")")).canonical_json();
  for (const std::string_view same :
       {R"("k":{"dtype":"int4"},"v":{"dtype":"int4"})",
        R"("dtype":"int8","k":{"dtype":"int4"},"v":{"dtype":"int4","scale_dtype":"bf16"})",
        R"("dtype":"int4","granularity":"auto","group_size":0,"page_size":64)"}) {
    EXPECT_EQ(Spec::parse(append_spec(same)).canonical_json(), canonical) << same;
  }
  EXPECT_EQ(Spec::parse(canonical).canonical_json(), canonical);
  EXPECT_EQ(
      Spec::parse(append_spec("", R"(,"rope":{"pairing":"neox","dim":128})")).canonical_json(),
      Spec::parse(append_spec("", R"(,"rope":{"pairing":"neox"})")).canonical_json());
  EXPECT_EQ(Spec::parse(append_spec(R"("layout":"contiguous")")).kv().page_size, 0);
  EXPECT_EQ(Spec::parse(attention_spec(R"("heads":8,"kv_heads":8,"head_dim":64)"))
                .decode_attention()
                .scale_dim,
            64);
}

TEST(SpecKv, MisspeltWordsAndFields) {
  Error error = parse_error(append_spec(R"("dtype":"fp8_e4m4")"));
  EXPECT_EQ(error.problems()[0].pointer, "/kv/dtype");
  EXPECT_EQ(error.problems()[0].hint, "did you mean \"fp8_e4m3\"?");
  error = parse_error(append_spec(R"("k":{"granulrity":"head"})"));
  EXPECT_EQ(error.problems()[0].pointer, "/kv/k/granulrity");
  EXPECT_EQ(error.problems()[0].hint, "did you mean \"granularity\"?");
  error = parse_error(append_spec(R"("page_size":512)"));
  EXPECT_EQ(error.code(), "spec.out_of_range");
  EXPECT_EQ(parse_error(append_spec("", R"(,"rope":{"dim":64})")).problems()[0].pointer,
            "/rope/pairing");
  EXPECT_EQ(parse_error(append_spec("", R"(,"window":64)")).code(), "spec.unknown_field");
}

TEST(SpecKv, GoodSpecsHaveNoProblems) {
  for (const std::string_view kv :
       {"", R"("dtype":"fp16")", R"("dtype":"nvfp4")",
        R"("dtype":"fp8_e5m2","granularity":"token")",
        R"("dtype":"int2","granularity":"group","group_size":32,"symmetric":false)",
        R"("layout":"contiguous","order":"nhd")", R"("granularity":"channel","group_size":64)"}) {
    EXPECT_EQ(kv_pointers(append_spec(kv)), Pointers{}) << kv;
  }
  EXPECT_EQ(kv_pointers(attention_spec(R"("heads":32,"kv_heads":8,"head_dim":128,"query_len":8)",
                                       R"(,"window":4096,"sink_tokens":4,"softcap":50)")),
            Pointers{});
}

TEST(SpecKv, RulesBetweenFields) {
  const auto of_kv = [](std::string_view kv) { return kv_pointers(append_spec(kv)); };
  const Pointers granularities{"/kv/k/granularity", "/kv/v/granularity"};
  // The type of the scales follows from the granularity: one fault, not two.
  EXPECT_EQ(of_kv(R"("dtype":"fp16","granularity":"head")"), granularities);
  EXPECT_EQ(of_kv(R"("k":{"dtype":"fp16","scale_dtype":"fp16"})"), Pointers{"/kv/k/scale_dtype"});
  EXPECT_EQ(of_kv(R"("layout":"contiguous","page_size":32)"), Pointers{"/kv/page_size"});
  EXPECT_EQ(of_kv(R"("granularity":"none")"), granularities);
  EXPECT_EQ(of_kv(R"("dtype":"nvfp4","granularity":"token")"), granularities);
  EXPECT_EQ(of_kv(R"("dtype":"nvfp4","group_size":32)"),
            (Pointers{"/kv/k/group_size", "/kv/v/group_size"}));
  EXPECT_EQ(of_kv(R"("v":{"dtype":"fp8_e4m3","symmetric":false})"), Pointers{"/kv/v/symmetric"});
  EXPECT_EQ(of_kv(R"("k":{"granularity":"group","group_size":48})"), Pointers{"/kv/k/group_size"});
  EXPECT_EQ(of_kv(R"("k":{"granularity":"group","group_size":8})"), Pointers{"/kv/k/group_size"});
  EXPECT_EQ(of_kv(R"("k":{"group_size":64})"), Pointers{"/kv/k/group_size"});
  EXPECT_EQ(of_kv(R"("k":{"scale_dtype":"e8m0"})"), Pointers{"/kv/k/scale_dtype"});
  EXPECT_EQ(of_kv(R"("k":{"granularity":"tensor","scale_dtype":"fp16"})"),
            Pointers{"/kv/k/scale_dtype"});
  EXPECT_EQ(of_kv(R"("page_size":0)"), Pointers{"/kv/page_size"});
  EXPECT_EQ(kv_pointers(append_spec("", R"(,"rope":{"pairing":"neox","dim":144})")),
            Pointers{"/rope/dim"});
  EXPECT_EQ(kv_pointers(attention_spec(R"("heads":12,"kv_heads":8,"head_dim":72)")),
            (Pointers{"/shape/head_dim", "/shape/heads"}));
  EXPECT_EQ(
      kv_pointers(attention_spec(R"("heads":8,"kv_heads":8,"head_dim":64)", R"(,"sink_tokens":4)")),
      Pointers{"/sink_tokens"});
}

TEST(SpecKv, QueryNormAndScalingAreInTheTextOnlyWhereTheyAre) {
  const std::string plain = Spec::parse(append_spec("")).canonical_json();
  EXPECT_EQ(Spec::parse(append_spec("", R"(,"query":{"heads":0})")).canonical_json(), plain);
  EXPECT_EQ(Spec::parse(append_spec("", R"(,"rope":{"pairing":"none","scaling":{"type":"linear",)"
                                        R"("factor":2}})"))
                .canonical_json(),
            plain);
  EXPECT_EQ(Spec::parse(append_spec("", R"(,"rope":{"pairing":"neox","scaling":{"type":"none",)"
                                        R"("factor":2,"truncate":false}})"))
                .canonical_json(),
            Spec::parse(append_spec("", R"(,"rope":{"pairing":"neox"})")).canonical_json());
  const std::string all =
      Spec::parse(append_spec("", R"(,"rope":{"pairing":"neox","scaling":{"type":"yarn",)"
                                  R"("factor":4,"original_max_position_embeddings":32768}},)"
                                  R"("query":{"heads":32},)"
                                  R"("norm":{"epsilon":1e-6,"weight_offset":1})"))
          .canonical_json();
  EXPECT_EQ(all.substr(all.find(R"("rope")")),
            R"("rope":{"pairing":"neox","dim":128,"source":"base","base":10000,)"
            R"("scaling":{"type":"yarn","factor":4,"original_max_position_embeddings":32768,)"
            R"("beta_fast":32,"beta_slow":1,"attention_factor":1.1386294}},)"
            R"("query":{"heads":32},"norm":{"epsilon":1e-06,"weight_offset":1}})");
  EXPECT_EQ(Spec::parse(all).canonical_json(), all);
}

TEST(SpecKv, RulesOfQueryAndNorm) {
  EXPECT_EQ(kv_pointers(append_spec("", R"(,"query":{"heads":32},"norm":{"epsilon":1e-5})")),
            Pointers{});
  EXPECT_EQ(kv_pointers(append_spec("", R"(,"query":{"heads":12})")), Pointers{"/query/heads"});
  EXPECT_EQ(parse_error(append_spec("", R"(,"query":{})")).problems()[0].pointer, "/query/heads");
  EXPECT_EQ(parse_error(append_spec("", R"(,"norm":{"weight_offset":1})")).problems()[0].pointer,
            "/norm/epsilon");
  EXPECT_EQ(parse_error(append_spec("", R"(,"norm":{"epsilon":0})")).code(), "spec.out_of_range");
  KvAppendSpec append;
  append.shape = {8, 128};
  append.norm.weight_offset = 1;
  const Spec spec = Spec::from_kv_append(append);
  const auto problems = check_meaning(spec.kv_append());
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].pointer, "/norm/weight_offset");
}

TEST(SpecKv, RulesOfScaledRotations) {
  const auto scaled = [](const std::string& scaling, const std::string& rope = "") {
    return append_spec("",
                       R"(,"rope":{"pairing":"neox")" + rope + R"(,"scaling":{)" + scaling + "}}");
  };
  const std::string original = R"(,"original_max_position_embeddings":8192)";
  const std::string llama3 = R"("type":"llama3","factor":8)" + original;
  const std::string yarn = R"("type":"yarn","factor":8)" + original;
  EXPECT_EQ(kv_pointers(scaled(R"("type":"linear","factor":1)")), Pointers{});
  EXPECT_EQ(kv_pointers(scaled(yarn)), Pointers{});
  EXPECT_EQ(kv_pointers(scaled(llama3 + R"(,"low_freq_factor":1,"high_freq_factor":4)")),
            Pointers{});
  EXPECT_EQ(kv_pointers(scaled(llama3)),
            (Pointers{"/rope/scaling/low_freq_factor", "/rope/scaling/high_freq_factor"}));
  EXPECT_EQ(kv_pointers(scaled(llama3 + R"(,"low_freq_factor":4,"high_freq_factor":4)")),
            Pointers{"/rope/scaling/high_freq_factor"});
  EXPECT_EQ(kv_pointers(scaled(yarn + R"(,"beta_fast":1,"beta_slow":2)")),
            Pointers{"/rope/scaling/beta_fast"});
  EXPECT_EQ(kv_pointers(scaled(R"("type":"yarn","factor":8)")),
            Pointers{"/rope/scaling/original_max_position_embeddings"});
  EXPECT_EQ(kv_pointers(scaled(R"("type":"linear")")), Pointers{"/rope/scaling/factor"});
  EXPECT_EQ(
      kv_pointers(scaled(R"("type":"linear","factor":2,"attention_factor":1,"truncate":false)")),
      (Pointers{"/rope/scaling/attention_factor", "/rope/scaling/truncate"}));
  EXPECT_EQ(kv_pointers(scaled(R"("type":"linear","factor":2)", R"(,"source":"table")")),
            Pointers{"/rope/scaling/type"});
  EXPECT_EQ(parse_error(scaled(R"("type":"linear","factor":0.5)")).code(), "spec.out_of_range");
  EXPECT_EQ(parse_error(scaled(R"("type":"yarn","original_max_position_embeddings":0)")).code(),
            "spec.out_of_range");
  EXPECT_EQ(parse_error(scaled(R"("factor":2)")).problems()[0].pointer, "/rope/scaling/type");
  EXPECT_EQ(parse_error(scaled(R"("type":"dynamic","factor":2)")).code(), "spec.unknown_word");
}

TEST(SpecKv, StructsAreCheckedAndCompleted) {
  KvAppendSpec append;
  append.shape = {8, 128};
  EXPECT_EQ(Spec::from_kv_append(append).kv().k.granularity, KvGranularity::kHead);
  EXPECT_FALSE(Spec::from_kv_append(append).has_weight());
  append.kv.page_size = 1000;
  EXPECT_THROW(Spec::from_kv_append(append), Error);
  EXPECT_THROW(Spec::from_decode_attention({}), Error);
  EXPECT_THROW(Spec::from_weight_op(Op::kKvAppend, {}), Error);
}

TEST(SpecKv, TheCanonicalTextOfAnyHeadIsASpec) {
  // Rotations turn whole runs of 16 elements; that a head of another size has no kernel is for
  // resolve() to say.
  for (int head_dim = 8; head_dim <= 512; head_dim += 8) {
    const Spec spec =
        Spec::parse(R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":2,"head_dim":)" +
                    std::to_string(head_dim) +
                    R"(},"activation":{"dtype":"fp16"},"kv":{"dtype":"int8"},
                                     "rope":{"pairing":"neox"}})");
    EXPECT_EQ(Spec::parse(spec.canonical_json()).canonical_json(), spec.canonical_json());
    EXPECT_EQ(spec.kv_append().rope.dim, head_dim % 16 == 0 ? head_dim : 0);
  }
}

}  // namespace
}  // namespace heddle
