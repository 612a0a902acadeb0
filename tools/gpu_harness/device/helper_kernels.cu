// The harness's own kernels: random data, the FP64 reference, comparison, and streaming.
// Includes nothing. 16-bit floats travel as their bits; `bf16` says which kind they are, `type` the
// same of floats that may also have 32 bits. 0: FP16, 1: BF16, 2: FP32.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ double widen(u16 bits, int bf16) {
  if (bf16) return __uint_as_float(static_cast<u32>(bits) << 16);
  double value;
  asm("cvt.f64.f16 %0, %1;" : "=d"(value) : "h"(bits));
  return value;
}

// To nearest, ties to even. Finite values only.
__device__ u16 narrow(float value, int bf16) {
  if (bf16) {
    const u32 bits = __float_as_uint(value);
    return static_cast<u16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

// The quantised weights as plain arrays, and what their numbers are worth.
struct Weights {
  const u8* codes;      // [n, k], of code_bytes each
  const float* values;  // of every code
  const float* scales;  // [n, groups]
  const float* zeros;   // [n, groups]
  double tensor_scale;
  int n, k, group_size;
  int group_offset;  // the column of its first group at which W begins
  int groups;        // of a row
  int code_bytes;    // 1 or 2
};

__device__ double weight_at(const Weights& w, int row, int column) {
  const u64 group = static_cast<u64>(row) * w.groups + (column + w.group_offset) / w.group_size;
  const u64 at = static_cast<u64>(row) * w.k + column;
  const u32 code = w.code_bytes == 1 ? w.codes[at] : reinterpret_cast<const u16*>(w.codes)[at];
  const double value = w.values[code];
  return (value - w.zeros[group]) * w.scales[group] * w.tensor_scale;
}

// X as the caller gives it: column j that meets the weights is column permutation[j] times its
// factor, and the sums of a token are multiplied by its scale. Each may be null.
struct Columns {
  const int* permutation;
  const u16* factors;
  const float* token_scales;
};

__device__ double token_at(const Columns& columns, const u16* row, int j, int bf16) {
  const int column = columns.permutation ? columns.permutation[j] : j;
  const double value = widen(row[column], bf16);
  return columns.factors ? value * widen(columns.factors[column], bf16) : value;
}

__device__ double value_at(const void* values, u64 i, int type) {
  if (type == 2) return static_cast<const float*>(values)[i];
  return widen(static_cast<const u16*>(values)[i], type);
}

// What follows the sums. Bias and residual may be null.
struct Epilogue {
  const void* bias;      // [n]
  const void* residual;  // of Y's shape
  int activation;        // 0: none, 1: ReLU, 2: GELU, 3: GELU by tanh, 4: SiLU, 5: ReLU squared,
                         // 6: clamped SwiGLU, 7: SiTU
  int gated;             // rows n / 2 and more are ups
  int limit;             // of gates and ups; 0: none
  int gate_limit;
  int type;  // of the residual
  int bias_type;
};

__device__ double activate(double x, int activation) {
  if (activation == 5) return x > 0 ? x * x : 0;
  if (activation == 1) return x > 0 ? x : 0;
  if (activation == 2) return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
  if (activation == 3) {
    return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
  }
  if (activation == 4) return x / (1 + exp(-x));
  return x;
}

__device__ double soft_limited(double x, int limit) {
  return limit == 0 ? x : limit * tanh(x / limit);
}

__device__ double activate_gated(double gate, double up, const Epilogue& epilogue) {
  if (epilogue.activation == 7) {
    return soft_limited(gate, epilogue.gate_limit) / (1 + exp(-gate)) *
           soft_limited(up, epilogue.limit);
  }
  if (epilogue.limit != 0) {
    const double limit = epilogue.limit;
    gate = gate > limit ? limit : gate;
    up = up > limit ? limit : up < -limit ? -limit : up;
  }
  if (epilogue.activation != 6) return activate(gate, epilogue.activation) * up;
  return (up + 1) * gate / (1 + exp(-1.702 * gate));
}

__device__ u64 thread_index() { return static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ u64 thread_count() { return static_cast<u64>(gridDim.x) * blockDim.x; }

__device__ double sum_at(const Weights& w, const Columns& columns, const u16* x,
                         const Epilogue& epilogue, int row, double scale, int bf16) {
  double sum = 0;
  for (int k = 0; k < w.k; ++k) sum += weight_at(w, row, k) * token_at(columns, x, k, bf16);
  return sum * scale + (epilogue.bias ? value_at(epilogue.bias, row, epilogue.bias_type) : 0);
}

// One thread per output.
extern "C" __global__ void reference_gemm(Weights w, Columns columns, const u16* x,
                                          Epilogue epilogue, double* y, int m, int bf16) {
  const u64 index = thread_index();
  const int rows = epilogue.gated ? w.n / 2 : w.n;
  if (index >= static_cast<u64>(m) * rows) return;
  // Neighbours share a row of weights: the large array is read from memory only once or so.
  const int row = static_cast<int>(index / m);
  const int token = static_cast<int>(index % m);
  x += static_cast<u64>(token) * w.k;
  const double scale = columns.token_scales ? columns.token_scales[token] : 1;
  const double sum = sum_at(w, columns, x, epilogue, row, scale, bf16);
  double result;
  if (epilogue.gated) {
    const double up = sum_at(w, columns, x, epilogue, rows + row, scale, bf16);
    result = activate_gated(sum, up, epilogue);
  } else {
    result = activate(sum, epilogue.activation);
  }
  const u64 at = static_cast<u64>(token) * rows + row;
  if (epilogue.residual) result += value_at(epilogue.residual, at, epilogue.type);
  y[at] = result;
}

// The weights in the activation's type, for libraries that know no quantised ones.
extern "C" __global__ void round_weights(Weights w, u16* rounded, int bf16) {
  const u64 count = static_cast<u64>(w.n) * w.k;
  for (u64 i = thread_index(); i < count; i += thread_count()) {
    const double value = weight_at(w, static_cast<int>(i / w.k), static_cast<int>(i % w.k));
    rounded[i] = narrow(static_cast<float>(value), bf16);
  }
}

// X[m, k] in the weights' order, each value rounded, for the same libraries.
extern "C" __global__ void arrange_columns(Columns columns, const u16* x, u16* arranged, u64 m,
                                           int k, int bf16) {
  for (u64 i = thread_index(); i < m * k; i += thread_count()) {
    const u16* row = x + i / k * k;
    arranged[i] =
        narrow(static_cast<float>(token_at(columns, row, static_cast<int>(i % k), bf16)), bf16);
  }
}

__device__ u32 mix(u32 x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

// Normally distributed numbers by the Box-Muller transform.
extern "C" __global__ void fill_normal(void* out, u64 count, u32 seed, float scale, int type) {
  for (u64 i = thread_index(); i < count; i += thread_count()) {
    const u32 a = mix(static_cast<u32>(i) ^ mix(seed ^ static_cast<u32>(i >> 32)));
    const u32 b = mix(a ^ 0x9e3779b9u);
    const float u = (static_cast<float>(a >> 8) + 0.5f) * (1.0f / 16777216.0f);
    const float v = static_cast<float>(b >> 8) * (1.0f / 16777216.0f);
    const float value = scale * sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
    if (type == 2) {
      static_cast<float*>(out)[i] = value;
    } else {
      static_cast<u16*>(out)[i] = narrow(value, type);
    }
  }
}

// sums[0] += |y - reference|^2, sums[1] += |reference|^2; a NaN in y makes sums[0] NaN.
extern "C" __global__ void compare(const void* y, const double* reference, u64 count, int type,
                                   double* sums) {
  double error = 0, norm = 0;
  for (u64 i = thread_index(); i < count; i += thread_count()) {
    const double difference = value_at(y, i, type) - reference[i];
    error += difference * difference;
    norm += reference[i] * reference[i];
  }
  atomicAdd(&sums[0], error);
  atomicAdd(&sums[1], norm);
}

// Reads `count` 16-byte words once, four in flight per thread. Writes only so that it must read.
extern "C" __global__ void stream_read(const uint4* data, u64 count, u32* out) {
  u32 sum = 0;
  const u64 step = thread_count();
  u64 i = thread_index();
  for (; i + 3 * step < count; i += 4 * step) {
    const uint4 a = data[i], b = data[i + step], c = data[i + 2 * step], d = data[i + 3 * step];
    sum ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w;
    sum ^= c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
  }
  for (; i < count; i += step) sum ^= data[i].x ^ data[i].y ^ data[i].z ^ data[i].w;
  if (sum == 0x12345678u) *out = sum;
}

// Reads `read` 16-byte words once and writes `written` ones, as fast as the memory allows: a block
// goes from tile to tile, a thread reads kWords words of each, and the tile's share of the output,
// `written_per_tile` consecutive words, follows.
template <int kWords>
__device__ void stream_copy(const uint4* data, u64 read, uint4* out, u64 written,
                            u64 written_per_tile) {
  const u64 read_per_tile = static_cast<u64>(kWords) * blockDim.x;
  for (u64 tile = blockIdx.x; tile * read_per_tile < read; tile += gridDim.x) {
    uint4 words[kWords];
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const u64 at = tile * read_per_tile + i * blockDim.x + threadIdx.x;
      words[i] = at < read ? __ldg(&data[at]) : uint4{0, 0, 0, 0};
    }
    uint4 sum = words[0];
#pragma unroll
    for (int i = 1; i < kWords; ++i) {
      sum = uint4{sum.x ^ words[i].x, sum.y ^ words[i].y, sum.z ^ words[i].z, sum.w ^ words[i].w};
    }
    const u64 begin = tile * written_per_tile;
    const u64 end = begin + written_per_tile < written ? begin + written_per_tile : written;
#pragma unroll 4
    for (u64 at = begin + threadIdx.x; at < end; at += blockDim.x) out[at] = sum;
  }
}

extern "C" __global__ void stream_copy_1(const uint4* data, u64 read, uint4* out, u64 written,
                                         u64 written_per_tile) {
  stream_copy<1>(data, read, out, written, written_per_tile);
}
extern "C" __global__ void stream_copy_2(const uint4* data, u64 read, uint4* out, u64 written,
                                         u64 written_per_tile) {
  stream_copy<2>(data, read, out, written, written_per_tile);
}
extern "C" __global__ void stream_copy_4(const uint4* data, u64 read, uint4* out, u64 written,
                                         u64 written_per_tile) {
  stream_copy<4>(data, read, out, written, written_per_tile);
}

// clocks[SM] = {its clock, the time in nanoseconds}, of the SMs that a block came to.
extern "C" __global__ void read_clocks(ulonglong2* clocks, u32 count) {
  u32 sm;
  u64 nanoseconds;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  const ulonglong2 pair = {static_cast<u64>(clock64()), nanoseconds};
  if (threadIdx.x == 0 && sm < count) clocks[sm] = pair;
}

extern "C" __global__ void copy_words(const u32* from, u32* to, u64 words) {
  for (u64 i = thread_index(); i < words; i += thread_count()) to[i] = from[i];
}

// Lets the kernel behind it start, then takes its time, then copies: a kernel that reads `to`
// without waiting finds what was there before.
extern "C" __global__ void copy_late(const u32* from, u32* to, u64 words) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  constexpr long long kClocks = 100000;
  const long long begin = clock64();
  while (clock64() - begin < kClocks) continue;
  for (u64 i = thread_index(); i < words; i += thread_count()) to[i] = from[i];
}
