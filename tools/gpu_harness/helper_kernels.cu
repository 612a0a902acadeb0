// The harness's own kernels: random data, the FP64 reference, comparison, and a streaming read.
// Includes nothing. 16-bit floats travel as their bits; `bf16` says which kind they are.

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

// The quantised weights as plain arrays, and what their numbers mean.
struct Weights {
  const u8* codes;     // [n, k]
  const void* scales;  // [n, groups]
  const u8* zeros;     // [n, groups] or null
  int n, k, groups;
  int bits;
  int is_signed;
  int scale_type;  // 0: FP16, 1: BF16, 2: FP32
};

__device__ double weight_at(const Weights& w, int row, int column) {
  const u64 group = static_cast<u64>(row) * w.groups + column / (w.k / w.groups);
  int code = w.codes[static_cast<u64>(row) * w.k + column];
  const int half = 1 << (w.bits - 1);
  if (w.is_signed && code >= half) code -= 2 * half;
  int zero = w.zeros ? w.zeros[group] : (w.is_signed ? 0 : half);
  if (w.is_signed && zero >= half) zero -= 2 * half;
  const double scale = w.scale_type == 2
                           ? static_cast<const float*>(w.scales)[group]
                           : widen(static_cast<const u16*>(w.scales)[group], w.scale_type);
  return (code - zero) * scale;
}

// 0: none, 1: ReLU, 2: GELU, 3: GELU by tanh, 4: SiLU
__device__ double activate(double x, int activation) {
  if (activation == 1) return x > 0 ? x : 0;
  if (activation == 2) return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
  if (activation == 3) {
    return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
  }
  if (activation == 4) return x / (1 + exp(-x));
  return x;
}

__device__ u64 thread_index() { return static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ u64 thread_count() { return static_cast<u64>(gridDim.x) * blockDim.x; }

// One thread per output; bias and residual may be null.
extern "C" __global__ void reference_gemm(Weights w, const u16* x, const u16* bias,
                                          const u16* residual, double* y, int m, int bf16,
                                          int activation) {
  const u64 index = thread_index();
  if (index >= static_cast<u64>(m) * w.n) return;
  // Neighbours share a row of weights: the large array is read from memory only once or so.
  const int row = static_cast<int>(index / m);
  const int token = static_cast<int>(index % m);
  double sum = 0;
  for (int k = 0; k < w.k; ++k) {
    sum += weight_at(w, row, k) * widen(x[static_cast<u64>(token) * w.k + k], bf16);
  }
  if (bias) sum += widen(bias[row], bf16);
  sum = activate(sum, activation);
  const u64 at = static_cast<u64>(token) * w.n + row;
  if (residual) sum += widen(residual[at], bf16);
  y[at] = sum;
}

// The weights in the activation's type, for libraries that know no quantised ones.
extern "C" __global__ void round_weights(Weights w, u16* rounded, int bf16) {
  const u64 count = static_cast<u64>(w.n) * w.k;
  for (u64 i = thread_index(); i < count; i += thread_count()) {
    const double value = weight_at(w, static_cast<int>(i / w.k), static_cast<int>(i % w.k));
    rounded[i] = narrow(static_cast<float>(value), bf16);
  }
}

__device__ u32 mix(u32 x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

// Normally distributed numbers by the Box-Muller transform.
extern "C" __global__ void fill_normal(u16* out, u64 count, u32 seed, float scale, int bf16) {
  for (u64 i = thread_index(); i < count; i += thread_count()) {
    const u32 a = mix(static_cast<u32>(i) ^ mix(seed ^ static_cast<u32>(i >> 32)));
    const u32 b = mix(a ^ 0x9e3779b9u);
    const float u = (static_cast<float>(a >> 8) + 0.5f) * (1.0f / 16777216.0f);
    const float v = static_cast<float>(b >> 8) * (1.0f / 16777216.0f);
    out[i] = narrow(scale * sqrtf(-2.0f * logf(u)) * cospif(2.0f * v), bf16);
  }
}

// sums[0] += |y - reference|^2, sums[1] += |reference|^2; a NaN in y makes sums[0] NaN.
extern "C" __global__ void compare(const u16* y, const double* reference, u64 count, int bf16,
                                   double* sums) {
  double error = 0, norm = 0;
  for (u64 i = thread_index(); i < count; i += thread_count()) {
    const double difference = widen(y[i], bf16) - reference[i];
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

// Reads `reads` 16-byte words and writes `writes` of them, four in flight per thread.
extern "C" __global__ void stream_copy(const uint4* from, u64 reads, uint4* to, u64 writes) {
  const u64 step = thread_count();
  const u64 most = reads > writes ? reads : writes;
  u32 sum = 0;
  for (u64 first = thread_index(); first < most; first += 4 * step) {
    uint4 words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const u64 at = first + i * step;
      words[i] = at < reads ? from[at] : make_uint4(sum, sum, sum, sum);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const u64 at = first + i * step;
      if (at < writes) {
        to[at] = words[i];
      } else {
        sum ^= words[i].x ^ words[i].y ^ words[i].z ^ words[i].w;
      }
    }
  }
  // Words that are read only must be read all the same.
  if (sum == 0x12345678u && writes > 0) to[0].x = sum;
}
