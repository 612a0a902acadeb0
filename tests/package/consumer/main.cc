// The smallest program that uses Heddle as a package: a plan, and the layers of a checkpoint. No
// GPU and no NVRTC needed.
#include <cstdio>
#include <vector>

#include "heddle/heddle.hpp"
#include "heddle/inspect.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const heddle::Spec spec = heddle::Spec::parse(R"({
      "heddle": 1, "op": "gemm",
      "shape": {"n": 4096, "k": 4096},
      "weight": {"bits": 4, "type": "uint", "group_size": 128},
      "activation": {"dtype": "fp16"}})");
    const heddle::Plan plan = heddle::resolve(spec, heddle::target_from_name("h200"));
    const std::vector<heddle::Source> sources = heddle::render_all(plan);
    std::printf("heddle %s: %zu kernels, %zu bytes of workspace\n", HEDDLE_VERSION, sources.size(),
                plan.max_workspace_bytes());
    const heddle::CheckpointReader reader(argv[1]);
    for (const heddle::CheckpointLayer& layer : reader.layers()) {
      std::vector<unsigned char> packed(layer.packed.bytes);
      reader.pack(layer, packed.data(), packed.size());
      std::printf("%s: %zu packed bytes\n", layer.name.c_str(), packed.size());
    }
  } catch (const heddle::Error& error) {
    // Across the library's border, as the type that the header names.
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
