// The GPU of the fake driver whose kernels the emulator runs.
#ifndef HEDDLE_TESTS_DECODER_EMULATED_GPU_H_
#define HEDDLE_TESTS_DECODER_EMULATED_GPU_H_

#include "tests/fake_driver/fake_driver.h"

namespace heddle::testing {

// Each like an A100, but with few SMs: a launch then has few blocks, and some of them share work.
inline void take_emulated_gpus(std::size_t count) {
  fake::reset();
  fake::Device device = fake::device_of("Emulated", 8, 0);
  device.attributes[cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 4;
  fake::state().devices.assign(count, device);
}
inline void take_emulated_gpu() { take_emulated_gpus(1); }

// One that has kernels of 8-bit activations, which no test here runs.
inline void take_hopper() {
  fake::reset();
  fake::state().devices = {fake::device_of("Hopper", 9, 0)};
}

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_DECODER_EMULATED_GPU_H_
