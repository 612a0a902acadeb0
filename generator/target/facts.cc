#include "generator/target/facts.h"

namespace heddle {
namespace {

constexpr ArchitectureFacts kArchitectures[] = {
    {75, 64, 0, 1024, "t4"},     {80, 164, 1, 2048, "a100"},  {86, 100, 1, 1536, "a10"},
    {87, 164, 1, 1536, "orin"},  {88, 100, 1, 1536, "orin"},  // no public device: a small one
    {89, 100, 1, 1536, "l40s"},  {90, 228, 1, 2048, "h100"},  {100, 228, 1, 2048, "b200"},
    {103, 228, 1, 2048, "b300"}, {110, 228, 1, 1536, "thor"}, {120, 100, 1, 1536, "rtx5090"},
    {121, 100, 1, 1536, "gb10"},
};

// SMs, L2, bandwidth and boost clock: NVIDIA's data sheets and architecture white papers; the L2 of
// b200 as the driver reports it.
constexpr DeviceFacts kDevices[] = {
    {"t4", 75, 40, 4, 320, 1590},           // 16 GB GDDR6
    {"rtx2080ti", 75, 68, 5.5, 616, 1545},  // 11 GB GDDR6
    {"a100", 80, 108, 40, 2039, 1410, 0, 0, "A100-SXM4-80GB"},
    {"a30", 80, 56, 24, 933, 1440},
    {"a10", 86, 72, 6, 600, 1695},
    {"a40", 86, 84, 6, 696, 1740},
    {"rtxa6000", 86, 84, 6, 768, 1800},
    {"rtx3090", 86, 82, 6, 936, 1695},
    {"orin", 87, 16, 4, 204.8, 1300},  // Jetson AGX Orin, 64 GB
    {"l4", 89, 58, 48, 300, 2040},
    {"l40s", 89, 142, 96, 864, 2520},
    {"rtx4090", 89, 128, 72, 1008, 2520},
    // SXM, 80 GB; the last two numbers, like the H200's, were measured.
    {"h100", 90, 132, 50, 3350, 1980, 790, 1.5, "H100 80GB HBM3"},
    {"h100-pcie", 90, 114, 50, 2000, 1755},       // 80 GB
    {"h200", 90, 132, 50, 4800, 1980, 790, 1.5},  // SXM
    {"gh200", 90, 132, 50, 4000, 1980},           // 96 GB HBM3
    {"b200", 100, 148, 126.5, 8000, 1965},
    {"b300", 103, 148, 126.5, 8000, 1965},
    {"thor", 110, 20, 32, 273, 1575},  // Jetson AGX Thor
    {"rtx5090", 120, 170, 96, 1792, 2407},
    {"rtxpro6000", 120, 188, 128, 1792, 2617, 0, 0, "RTX PRO 6000 Blackwell Workstation Edition"},
    {"gb10", 121, 48, 24, 273, 2418},  // DGX Spark
};

}  // namespace

std::span<const ArchitectureFacts> architecture_facts() { return kArchitectures; }
std::span<const DeviceFacts> device_facts() { return kDevices; }

}  // namespace heddle
