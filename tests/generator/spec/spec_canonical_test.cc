#include <filesystem>
#include <nlohmann/json.hpp>

#include "generator/operations/operation.h"
#include "tests/generator/spec/spec_helpers.h"

namespace heddle {
namespace {

TEST(SpecCanonical, WritesEveryDefault) {
  EXPECT_EQ(Spec::parse(kSmallSpec).canonical_json(),
            R"({"heddle":1,"op":"gemm","shape":{"n":64,"k":128,"m":[1,65536]},)"
            R"("weight":{"bits":4,"type":"uint","group_size":128,"zero_point":"none",)"
            R"("scale_dtype":"fp16","tensor_scale":false,"interleave":"fragment"},)"
            R"("activation":{"dtype":"fp16","pre_scale":false,"act_order":false},)"
            R"("epilogue":{"bias":false,"activation":"none","residual":false},)"
            R"("deterministic":true,"path":"auto"})");
}

// A field that came later: only who sets it has another text.
TEST(SpecCanonical, SaysBatchInvariantWhereItIsSet) {
  const std::string canonical = Spec::parse(kSmallSpec).canonical_json();
  const auto with = [](const char* value) {
    return Spec::parse(
               changed(R"("op")", std::string(R"("batch_invariant":)") + value + R"(,"op")"))
        .canonical_json();
  };
  EXPECT_EQ(with("false"), canonical);
  std::string invariant = canonical;
  invariant.replace(invariant.find(R"("path")"), 0, R"("batch_invariant":true,)");
  EXPECT_EQ(with("true"), invariant);
  EXPECT_EQ(Spec::parse(invariant).canonical_json(), invariant);
}

TEST(SpecCanonical, SameMeaningSameText) {
  const std::string canonical = Spec::parse(kSmallSpec).canonical_json();
  EXPECT_EQ(Spec::parse(changed(R"("op")", R"("name":"x","tile":{},"epilogue":{},"op")"))
                .canonical_json(),
            canonical);
  EXPECT_EQ(Spec::parse(changed(R"("n":64)", R"("m":[1,65536.0],"n":64.0)")).canonical_json(),
            canonical);
  EXPECT_NE(Spec::parse(changed(R"("op")", R"("path":"ampere","op")")).canonical_json(), canonical);
}

Spec made_again(const Spec& spec) {
  switch (spec.op()) {
    case Op::kGemm:
      return Spec::from_gemm(spec.gemm());
    case Op::kKvAppend:
      return Spec::from_kv_append(spec.kv_append());
    case Op::kDecodeAttention:
      return Spec::from_decode_attention(spec.decode_attention());
    case Op::kRowTransform:
      return Spec::from_row_transform(spec.row_transform());
    case Op::kMoe:
      return Spec::from_moe(spec.moe());
    case Op::kDequantize:
    case Op::kRepack:
    case Op::kQuantizeWeight:
      break;
  }
  return Spec::from_weight_op(spec.op(), spec.weight_op());
}

// As above, of packed weights in the order of a gated epilogue.
TEST(SpecCanonical, OperationsOnWeightsSayThatTheyAreGated) {
  const std::string head = R"({"heddle":1,"shape":{"n":64,"k":128},"weight":{"bits":4},)";
  for (const char* rest : {R"("op":"dequantize","output":{"dtype":"fp16"})",
                           R"("op":"repack","source":{"format":"awq"})",
                           R"("op":"quantize_weight","input":{"dtype":"fp16"})"}) {
    const Spec plain = Spec::parse(head + rest + "}");
    EXPECT_FALSE(plain.gated());
    EXPECT_EQ(plain.canonical_json().find("epilogue"), std::string::npos);
    const Spec not_gated = Spec::parse(head + rest + R"(,"epilogue":{"gated":false}})");
    EXPECT_EQ(not_gated.canonical_json(), plain.canonical_json());
    const Spec gated = Spec::parse(head + rest + R"(,"epilogue":{"gated":true}})");
    EXPECT_TRUE(gated.gated());
    EXPECT_NE(gated.canonical_json().find(R"("epilogue":{"gated":true})"), std::string::npos);
    EXPECT_EQ(Spec::parse(gated.canonical_json()).canonical_json(), gated.canonical_json());
    // What a gemm's epilogue computes is no matter of packed weights.
    EXPECT_EQ(parse_error(head + rest + R"(,"epilogue":{"bias":true}})").code(),
              "spec.unknown_field");
  }
}

// The texts, and with them the cache keys, of specs from before the field came.
TEST(SpecCanonical, LeavesOutNoGroupOffset) {
  const std::string text = Spec::parse(kSmallSpec).canonical_json();
  EXPECT_EQ(Spec::parse(changed(R"("bits":4)", R"("bits":4,"group_offset":0)")).canonical_json(),
            text);
  const Spec shard = Spec::parse(changed(R"("bits":4)", R"("group_offset":96,"bits":4)"));
  EXPECT_EQ(shard.weight().group_offset, 96);
  const std::string shard_text = shard.canonical_json();
  EXPECT_NE(shard_text.find(R"("group_size":128,"group_offset":96,"zero_point")"), text.npos);
  EXPECT_EQ(Spec::parse(shard_text).canonical_json(), shard_text);
  EXPECT_EQ(made_again(shard).canonical_json(), shard_text);
}

TEST(SpecCanonical, KeepsOnlyTheTileFieldsThatAreSet) {
  const std::string text =
      Spec::parse(changed(R"("op")", R"("tile":{"stages":3,"m":16},"op")")).canonical_json();
  EXPECT_NE(text.find(R"("tile":{"m":16,"stages":3},"epilogue")"), text.npos) << text;
}

// An output that is of X's type is none, whichever way it was said.
TEST(SpecCanonical, NamesTheOutputWhereItIsAnother) {
  const std::string plain = Spec::parse(kSmallSpec).canonical_json();
  EXPECT_EQ(plain.find("output"), plain.npos);
  const std::string same = changed(R"("op")", R"("output":{"dtype":"fp16"},"op")");
  EXPECT_EQ(Spec::parse(same).canonical_json(), plain);
  GemmSpec gemm = Spec::parse(kSmallSpec).gemm();
  gemm.output = DType::kFp16;
  EXPECT_EQ(Spec::from_gemm(gemm).canonical_json(), plain);
  gemm.output = DType::kFp32;
  EXPECT_NE(Spec::from_gemm(gemm).canonical_json().find(R"("output":{"dtype":"fp32"})"),
            plain.npos);
}

// How many fields a schema describes, with those inside of its objects and arrays.
std::size_t described_in(const nlohmann::json& schema) {
  std::size_t count = schema.contains("description") ? 1 : 0;
  for (const char* members : {"properties", "prefixItems"}) {
    if (!schema.contains(members)) continue;
    for (const nlohmann::json& member : schema[members]) count += described_in(member);
  }
  return count;
}

// The schema of one operation has each field of its table, and no other one.
void expect_schema_of(const FieldTable& table, const nlohmann::json& schema) {
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["op"]["const"], to_string(table.op));
  std::size_t described = 0;
  for (const Field& field : table.fields) {
    std::string path;
    for (const Field* at = &field; at != nullptr; at = table.find(at->parent())) {
      const Field* parent = table.find(at->parent());
      const bool element = parent != nullptr && parent->kind == FieldKind::kTuple;
      path = (element ? "/prefixItems/" : "/properties/") + std::string(at->name()) + path;
    }
    const auto& node = schema.at(nlohmann::json::json_pointer(path));
    EXPECT_TRUE(node.contains("description")) << path;
    EXPECT_EQ(node.contains("additionalProperties"), field.kind == FieldKind::kObject) << path;
    ++described;
  }
  const auto& place_of_schema = schema.at("properties").at("$schema");  // is no field
  EXPECT_EQ(place_of_schema.at("type"), "string");
  EXPECT_EQ(described_in(schema), described + 1) << to_string(table.op);
}

// A multiplication in X's type is the default, whichever way it was said.
TEST(SpecCanonical, NamesTheMultiplicationWhereItIsAnother) {
  const std::string plain = Spec::parse(kSmallSpec).canonical_json();
  EXPECT_EQ(plain.find("multiply"), plain.npos);
  const Spec same = Spec::parse(changed(R"("op")", R"("multiply":{"dtype":"fp16"},"op")"));
  EXPECT_EQ(same.canonical_json(), plain);
  EXPECT_EQ(same.gemm().multiply_dtype(), DType::kFp16);
  GemmSpec gemm = same.gemm();
  gemm.multiply = DType::kFp16;
  EXPECT_EQ(Spec::from_gemm(gemm).canonical_json(), plain);
  gemm.multiply = DType::kBf16;
  const Spec other = Spec::from_gemm(gemm);
  EXPECT_NE(other.canonical_json().find(R"("multiply":{"dtype":"bf16"})"), plain.npos);
  EXPECT_EQ(Spec::parse(other.canonical_json()).canonical_json(), other.canonical_json());
}

// Editors are told the schema by the document itself; what it computes has nothing to do with it.
TEST(SpecCanonical, LeavesOutWhereItsSchemaIs) {
  const Spec plain = Spec::parse(kSmallSpec);
  for (const char* place : {"./heddle.schema.json", "", "https://example.org/schema"}) {
    const Spec spec =
        Spec::parse(changed(R"("op")", R"("$schema":")" + std::string(place) + R"(","op")"));
    EXPECT_EQ(spec.canonical_json(), plain.canonical_json());
  }
  const Error error = parse_error(changed(R"("op")", R"("$schema":7,"op")"));
  EXPECT_EQ(error.code(), "spec.wrong_type");
  EXPECT_EQ(error.problems().at(0).pointer, "/$schema");
  const Error inside = parse_error(changed(R"("bits":4)", R"("bits":4,"$schema":"x")"));
  EXPECT_EQ(inside.code(), "spec.unknown_field");
}

TEST(SpecCanonical, ParsesToItself) {
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HEDDLE_EXAMPLE_SPECS)) {
    const Spec spec = Spec::parse(file_text(entry.path()));
    const std::string canonical = spec.canonical_json();
    EXPECT_EQ(Spec::parse(canonical).canonical_json(), canonical) << entry.path();
    EXPECT_EQ(made_again(spec).canonical_json(), canonical) << entry.path();
    ++examples;
  }
  EXPECT_GE(examples, 5);
}

TEST(SpecSchema, IsClosedAndDescribed) {
  const nlohmann::json whole = nlohmann::json::parse(spec_schema());
  EXPECT_EQ(whole["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(whole["$id"], "urn:heddle:spec:1");
  ASSERT_EQ(whole["oneOf"].size(), every_operation().size());
  for (std::size_t i = 0; i < every_operation().size(); ++i) {
    expect_schema_of(every_operation()[i]->fields(), whole["oneOf"][i]);
  }
  const nlohmann::json& schema = whole["oneOf"][0];
  EXPECT_EQ(schema["required"],
            nlohmann::json::parse(R"(["heddle","op","shape","weight","activation"])"));
  EXPECT_EQ(schema.at("properties").at("weight").at("properties").at("group_size").at("default"),
            128);
  EXPECT_EQ(schema.at("properties").at("weight").at("properties").at("group_offset").at("default"),
            0);
  EXPECT_EQ(schema.at("properties").at("shape").at("properties").at("m").at("default"),
            nlohmann::json::parse("[1,65536]"));
}

}  // namespace
}  // namespace heddle
