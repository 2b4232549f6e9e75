// SPDX-License-Identifier: MIT
// The device's part of OpenClBackend, in OpenCL C 1.2.
#pragma once

inline constexpr char kOpenClKernels[] = R"CL(

// Every product and every sum is rounded: random numbers have the host's bits.
#pragma OPENCL FP_CONTRACT OFF

// Where elements lie in a buffer, in bytes: Places of opencl_shapes.h.
typedef struct {
  ulong offset;
  ulong rank;  // at least 1
  ulong sizes[8];
  long strides[8];
} Places;

// Of the i-th element in row-major order.
ulong place(const Places* p, ulong i) {
  long at = (long)p->offset;
  for (ulong d = p->rank - 1; d > 0; --d) {
    at += (long)(i % p->sizes[d]) * p->strides[d];
    i /= p->sizes[d];
  }
  return (ulong)(at + (long)i * p->strides[0]);
}

// There are more work items than elements: their number is rounded up.
#define COPY(name, type)                                                                  \
  __kernel void name(ulong count, __global uchar* dst, Places to,                         \
                     __global const uchar* src, Places from) {                            \
    const ulong i = get_global_id(0);                                                     \
    if (i >= count) return;                                                               \
    *(__global type*)(dst + place(&to, i)) = *(__global const type*)(src + place(&from, i)); \
  }
COPY(copy_1, uchar)
COPY(copy_2, ushort)
COPY(copy_4, uint)
COPY(copy_8, ulong)
COPY(copy_16, uint4)

// The index along an axis of that size, of which `inner` elements have the same.
#define IOTA(name, type)                                                                          \
  __kernel void name(ulong count, __global uchar* out, Places to, ulong inner, ulong size) {      \
    const ulong i = get_global_id(0);                                                             \
    if (i < count) *(__global type*)(out + place(&to, i)) = (type)(long)(i / inner % size);       \
  }
IOTA(iota_int, int)
IOTA(iota_long, long)
IOTA(iota_float, float)

// Random numbers: docs/random.md defines them. Words 4 b to 4 b + 3 of a seed.
uint4 philox(ulong block, ulong seed) {
  uint4 c = (uint4)((uint)block, (uint)(block >> 32), 0, 0);
  uint2 k = (uint2)((uint)seed, (uint)(seed >> 32));
  for (int round = 0; round < 10; ++round) {
    c = (uint4)(mul_hi(0xcd9e8d57u, c.z) ^ c.y ^ k.x, 0xcd9e8d57u * c.z,
                mul_hi(0xd2511f53u, c.x) ^ c.w ^ k.y, 0xd2511f53u * c.x);
    k += (uint2)(0x9e3779b9u, 0xbb67ae85u);
  }
  return c;
}

// A work item makes the four numbers of a block, as far as they are among those asked for: elements
// [offset, offset + count) of the seed, modulo 2^64.
void put_block(__global uchar* out, const Places* to, ulong count, ulong block, ulong offset,
               float4 numbers) {
  const float values[4] = {numbers.x, numbers.y, numbers.z, numbers.w};
  for (ulong k = 0; k < 4; ++k) {
    const ulong i = block * 4 + k - offset;  // huge for elements before the first
    if (i < count) *(__global float*)(out + place(to, i)) = values[k];
  }
}

__kernel void uniform_float(ulong count, __global uchar* out, Places to, ulong seed, ulong offset,
                            float low, float unit, float limit) {
  const ulong block = offset / 4 + get_global_id(0);
  const uint4 words = philox(block & 0x3ffffffffffffffful, seed);
  const float4 numbers = convert_float4(words >> 8) * unit + low;
  put_block(out, &to, count, block, offset, fmin(numbers, limit));
}

// The two normal numbers of Box and Muller's method.
float2 normals(uint radius, uint angle, float mean, float stddev) {
  // -2 ln x: x = 2^exponent * m, with m from sqrt(1/2) to sqrt(2).
  const float x = (float)(int)(radius >> 1) + 0.5f;
  const uint bits = as_uint(x) + (0x3f800000u - 0x3f3504f3u);
  const float exponent = (float)((int)(bits >> 23) - 127 - 31);
  const float m = as_float((bits & 0x7fffffu) + 0x3f3504f3u);
  const float f = m - 1.0f;
  const float s = f / (f + 2.0f);
  const float z = s * s;
  const float log = ((-0.59743455f * z - 0.79955083f) * z - 1.3333355f) * z - 4.0f;
  const float r = sqrt(exponent * -1.3862944f + s * log) * stddev;

  // The angle from the nearest quarter of the circle, and which one that is.
  const uint quarter = angle + 0x20000000u;
  const float a = (float)(int)(angle << 2) * (1.5707964f / 4294967296.0f);
  const float y = a * a;
  const float sine = a * (((-0.00019517299f * y + 0.008332178f) * y - 0.16666655f) * y + 1.0f);
  const float cosine =
      (((0.000024438452f * y - 0.0013887368f) * y + 0.041666647f) * y - 0.5f) * y + 1.0f;
  const bool swapped = (quarter >> 30 & 1) != 0;
  const uint first = as_uint(swapped ? sine : cosine) ^ ((quarter + 0x40000000u) & 0x80000000u);
  const uint second = as_uint(swapped ? cosine : sine) ^ (quarter & 0x80000000u);
  return (float2)(r * as_float(first) + mean, r * as_float(second) + mean);
}

__kernel void normal_float(ulong count, __global uchar* out, Places to, ulong seed, ulong offset,
                           float mean, float stddev, float unused) {
  const ulong block = offset / 4 + get_global_id(0);
  const uint4 words = philox(block & 0x3ffffffffffffffful, seed);
  put_block(out, &to, count, block, offset,
            (float4)(normals(words.x, words.y, mean, stddev),
                     normals(words.z, words.w, mean, stddev)));
}

)CL";
