// Writes small_llama() as a checkpoint into a folder that is there, for tests of a program.
//
// usage: write_small_model FOLDER
#include <string>

#include "tests/decoder/small_model.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const heddle::SmallModel small = heddle::small_llama();
  const std::string folder = argv[1];
  heddle::write_file(folder + "/config.json", small.config);
  heddle::write_tensors(folder + "/model.safetensors", small.tensors);
  return 0;
}
