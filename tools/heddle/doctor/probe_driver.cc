// The driver and the GPUs.
#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "heddle/error.h"
#include "runtime/driver/device.h"
#include "runtime/driver/driver.h"
#include "tools/heddle/doctor/diagnosis.h"
#include "tools/heddle/shared/machine_report.h"

namespace heddle {
namespace {

constexpr const char* kNoDriverAdvice =
    "install NVIDIA's driver, or start the container with its GPUs and the driver's libraries "
    "(docker run --gpus all)";

// The version of the part that is in the kernel, "580.65.06"; empty where there is none.
std::string module_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  std::getline(file, version);
  return version;
}

void probe_device(const cuda::Driver& cu, int ordinal, Diagnosis* diagnosis) {
  cuda::CUdevice device = 0;
  cuda::check(cu.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  const Target target = target_of_device(device);
  std::size_t bytes = 0;
  cuda::check(cu.cuDeviceTotalMem(&bytes, device), "cuDeviceTotalMem");
  nlohmann::ordered_json json = target_json(target);
  json["memory_bytes"] = bytes;
  diagnosis->found["devices"].push_back(json);
  diagnosis->lines.emplace_back(
      fmt::format("GPU {}", ordinal),
      fmt::format("{} ({}, {} SMs, {:.1f} GiB)", target.name, compiler_arch(target),
                  target.sm_count, static_cast<double>(bytes) / (1 << 30)));
  diagnosis->devices.push_back(target);
}

void probe_opened_driver(const cuda::Driver& cu, const std::string& module, Diagnosis* diagnosis) {
  cuda::check(cu.cuDriverGetVersion(&diagnosis->driver_version), "cuDriverGetVersion");
  const int version = diagnosis->driver_version;
  const std::string cuda = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  diagnosis->found["driver"] = {{"cuda", cuda}, {"module", nullptr}};
  if (!module.empty()) diagnosis->found["driver"]["module"] = module;
  diagnosis->lines.emplace_back(
      "driver", "CUDA " + cuda + (module.empty() ? "" : fmt::format(", kernel module {}", module)));
  int count = 0;
  cuda::check(cu.cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (count == 0) {
    judge_driver_error("driver.CUDA_ERROR_NO_DEVICE", "the NVIDIA driver finds no device", false,
                       diagnosis);
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    examine(fmt::format("GPU {}", ordinal), "look at what nvidia-smi says of it", diagnosis,
            [&] { probe_device(cu, ordinal, diagnosis); });
  }
}

}  // namespace

void judge_driver_error(const std::string& code, const std::string& text, bool has_gpu_file,
                        Diagnosis* diagnosis) {
  const bool is_missing = code == "driver.missing";
  const bool is_hidden = code == "driver.CUDA_ERROR_NO_DEVICE";
  if ((is_missing || is_hidden) && !has_gpu_file) {
    diagnosis->notes.push_back(
        {"driver", "no GPU here, so kernels can be built and not run: " + text, ""});
    return;
  }
  diagnosis->problems.push_back(
      {"driver", text,
       is_missing  ? kNoDriverAdvice
       : is_hidden ? "look at CUDA_VISIBLE_DEVICES and at the GPUs that the container was given"
       : code == "driver.too_old"
           ? "install a newer driver"
           : "look at what nvidia-smi says; after an update of the driver restart the machine"});
}

void probe_driver(Diagnosis* diagnosis) {
  diagnosis->found["driver"] = nullptr;
  diagnosis->found["devices"] = nlohmann::ordered_json::array();
  examine("driver", "look at what nvidia-smi says", diagnosis, [&] {
    std::error_code none;
    const bool has_gpu_file = std::filesystem::exists("/dev/nvidiactl", none);
    try {
      probe_opened_driver(cuda::driver(), module_version(), diagnosis);
    } catch (const Error& error) {
      judge_driver_error(error.code(), error.what(), has_gpu_file, diagnosis);
    }
  });
}

}  // namespace heddle
