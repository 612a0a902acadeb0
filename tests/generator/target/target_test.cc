#include "heddle/target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "generator/target/check_target.h"
#include "generator/target/facts.h"
#include "heddle/error.h"

namespace heddle {
namespace {

TEST(Target, Devices) {
  const Target h200 = target_from_name("h200");
  EXPECT_EQ(h200.name, "h200");
  EXPECT_EQ(h200.arch(), 90);
  EXPECT_EQ(h200.sm_count, 132);
  EXPECT_EQ(h200.shared_per_block, 232448);
  EXPECT_EQ(h200.shared_per_sm, 233472);
  EXPECT_EQ(h200.threads_per_sm, 2048);
  EXPECT_EQ(h200.registers_per_sm, 65536);
  EXPECT_EQ(h200.memory_gb_per_s, 4800);
  const Target a100 = target_from_name("a100");
  EXPECT_EQ(a100.arch(), 80);
  EXPECT_EQ(a100.sm_count, 108);
  EXPECT_EQ(a100.shared_per_block, 166912);
  EXPECT_EQ(a100.l2_bytes, 40 * 1024 * 1024);
  EXPECT_EQ(target_from_name("rtx4090").shared_per_block, 101376);
  EXPECT_EQ(target_from_name("rtx4090").shared_per_sm, 102400);
  EXPECT_EQ(target_from_name("t4").shared_per_block, 65536);
  EXPECT_EQ(target_from_name("t4").shared_per_sm, 65536);
  EXPECT_EQ(target_from_name("b200").arch(), 100);
}

TEST(Target, Architectures) {
  for (const int arch : {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121}) {
    const std::string name = "sm_" + std::to_string(arch);
    const Target target = target_from_name(name);
    EXPECT_EQ(target.name, name);
    EXPECT_EQ(target.arch(), arch);
    EXPECT_EQ(target.minor, arch % 10);
  }
}

TEST(Target, NamesAreForgiving) {
  EXPECT_EQ(target_from_name("H200").name, "h200");
  EXPECT_EQ(target_from_name("RTX 4090").name, "rtx4090");
  EXPECT_EQ(target_from_name("sm90").name, "sm_90");
  EXPECT_EQ(target_from_name("SM_90a").name, "sm_90");
  EXPECT_EQ(target_from_name("sm_120a").name, "sm_120");
}

TEST(Target, UnknownNamesAreListed) {
  for (const char* name : {"", "h20x", "sm_80a", "sm_70", "90", "h200a", "\x1b[31m"}) {
    try {
      target_from_name(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kUsage);
      EXPECT_EQ(error.code(), "target.unknown");
      EXPECT_NE(error.problems().at(0).allowed.find("h200, "), std::string::npos);
    }
  }
  const auto hint_for = [](const char* name) {
    try {
      target_from_name(name);
    } catch (const Error& error) {
      return error.problems()[0].hint;
    }
    return std::string("is known");
  };
  EXPECT_EQ(hint_for("h20x"), "did you mean \"h200\"?");
  EXPECT_EQ(hint_for("h20"), "did you mean \"h200\" or \"sm_90\"?");
  EXPECT_EQ(hint_for("rtx4080"), "did you mean \"sm_89\"?");
  EXPECT_EQ(hint_for("RTX 4070 Ti SUPER"), "did you mean \"sm_89\"?");
  EXPECT_EQ(hint_for("rtx3060"), "did you mean \"sm_86\"?");
  EXPECT_EQ(hint_for("rtx5070"), "did you mean \"sm_120\"?");
  EXPECT_EQ(hint_for("hopper"), "did you mean \"sm_90\"?");
  EXPECT_EQ(hint_for("mi300x"), "a GPU that is not listed is named by its architecture, as sm_90");
}

TEST(Target, MeasuredFactsAreOfTheirDeviceAlone) {
  for (const char* name : {"h100", "h200"}) {
    EXPECT_EQ(target_from_name(name).tensor_tflops, 790) << name;
    EXPECT_EQ(target_from_name(name).launch_us, 1.5) << name;
  }
  for (const char* name : {"h100-pcie", "gh200", "sm_90", "a100", "b200"}) {
    EXPECT_EQ(target_from_name(name).tensor_tflops, 0) << name;
    EXPECT_EQ(target_from_name(name).launch_us, 0) << name;
  }
}

TEST(Target, DevicesAreFoundByTheDriversName) {
  const std::pair<const char*, const char*> names[] = {
      {"NVIDIA H200", "h200"},
      {"NVIDIA H100 80GB HBM3", "h100"},
      {"NVIDIA H100 PCIe", "h100-pcie"},
      {"NVIDIA B200", "b200"},
      {"NVIDIA A100-SXM4-80GB", "a100"},
      {"NVIDIA A30", "a30"},
      {"NVIDIA RTX A6000", "rtxa6000"},
      {"NVIDIA L4", "l4"},
      {"NVIDIA L40S", "l40s"},
      {"Tesla T4", "t4"},
      {"NVIDIA GeForce RTX 2080 Ti", "rtx2080ti"},
      {"NVIDIA GeForce RTX 3090", "rtx3090"},
      {"NVIDIA GeForce RTX 4090", "rtx4090"},
      {"NVIDIA GeForce RTX 5090", "rtx5090"},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtxpro6000"},
  };
  for (const auto& [name, known] : names) {
    const DeviceFacts* const facts = facts_of_device(name);
    ASSERT_NE(facts, nullptr) << name;
    EXPECT_EQ(facts->name, known);
  }
  // Others of nearly the same name, whose memory or clock is another.
  for (const char* name :
       {"NVIDIA H200 NVL", "NVIDIA GH200 480GB", "NVIDIA H100 NVL", "NVIDIA A100-SXM4-40GB",
        "NVIDIA A100 80GB PCIe", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA ", "GeForce ", ""}) {
    EXPECT_EQ(facts_of_device(name), nullptr) << name;
  }
}

TEST(Target, CompilerArchitectureHasItsOwnFeaturesFromHopperOn) {
  EXPECT_EQ(compiler_arch(target_from_name("t4")), "sm_75");
  EXPECT_EQ(compiler_arch(target_from_name("rtx4090")), "sm_89");
  EXPECT_EQ(compiler_arch(target_from_name("h200")), "sm_90a");
  EXPECT_EQ(compiler_arch(target_from_name("sm_121")), "sm_121a");
}

TEST(Target, EveryKnownTargetIsWholeAndFoundByItsName) {
  std::set<std::string> names;
  bool architectures = false;
  for (const Target& target : known_targets()) {
    EXPECT_TRUE(names.insert(target.name).second) << target.name;
    EXPECT_EQ(target_from_name(target.name).sm_count, target.sm_count);
    EXPECT_GT(target.sm_count, 0);
    EXPECT_GT(target.l2_bytes, 0);
    EXPECT_GT(target.memory_gb_per_s, 0);
    EXPECT_GE(target.shared_per_sm, target.shared_per_block);
    EXPECT_GE(target.shared_per_block, 65536);
    EXPECT_EQ(target.threads_per_sm % 512, 0);
    const bool architecture = target.name.starts_with("sm_");
    EXPECT_TRUE(architecture || !architectures) << "devices come first: " << target.name;
    architectures = architecture;
  }
  EXPECT_GE(names.size(), 24U);
}

TEST(Target, EveryKnownTargetHasFactsThatAGpuCanHave) {
  for (const Target& target : known_targets()) {
    EXPECT_NO_THROW(check_target(target)) << target.name;
  }
}

TEST(Target, AFactThatNoGpuHasIsNamedWithItsRange) {
  const auto problem_of = [](const std::function<void(Target&)>& change) -> std::string {
    Target target = target_from_name("h200");
    change(target);
    try {
      check_target(target);
      return "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kUsage);
      EXPECT_EQ(error.code(), "target.invalid");
      return error.what();
    }
  };
  EXPECT_EQ(problem_of([](Target& t) { t.sm_count = 0; }),
            "target: /sm_count: no GPU has this, got 0; allowed: 1 to 4096");
  EXPECT_EQ(problem_of([](Target& t) { t.sm_count = 1; }), "accepted");
  const std::pair<const char*, std::function<void(Target&)>> absurd[] = {
      {"/major", [](Target& t) { t.major = 0; }},
      {"/minor", [](Target& t) { t.minor = 10; }},
      {"/sm_count", [](Target& t) { t.sm_count = -1; }},
      {"/shared_per_block", [](Target& t) { t.shared_per_block = 2147483647; }},
      {"/shared_per_block", [](Target& t) { t.shared_per_sm = 65536; }},
      {"/shared_per_sm", [](Target& t) { t.shared_per_sm = -2147483647; }},
      {"/registers_per_sm", [](Target& t) { t.registers_per_sm = 0; }},
      {"/threads_per_sm", [](Target& t) { t.threads_per_sm = 0; }},
      {"/l2_bytes", [](Target& t) { t.l2_bytes = -1; }},
      {"/memory_gb_per_s", [](Target& t) { t.memory_gb_per_s = std::nan(""); }},
      {"/memory_gb_per_s", [](Target& t) { t.memory_gb_per_s = 1e-300; }},
      {"/sm_mhz", [](Target& t) { t.sm_mhz = 0.5; }},
      {"/tensor_tflops", [](Target& t) { t.tensor_tflops = -1; }},
      {"/launch_us", [](Target& t) { t.launch_us = INFINITY; }},
      {"/name", [](Target& t) { t.name = "h200\nsm_90"; }},
  };
  for (const auto& [pointer, change] : absurd) {
    EXPECT_NE(problem_of(change).find(pointer), std::string::npos)
        << pointer << ": " << problem_of(change);
  }
}

}  // namespace
}  // namespace heddle
