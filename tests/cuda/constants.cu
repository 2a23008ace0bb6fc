// SPDX-License-Identifier: Apache-2.0
// The fronts of the light core and pipelines in a CUDA file: layouts, plans and schedules as constants of host and device.
// Where there is a device, a kernel writes what it was compiled with; elsewhere the host's half is all that is checked.
#include <hyperparallel/hardware.hpp>
#include <hyperparallel/operators.hpp>
#include <hyperparallel/pipeline.hpp>
#include <hyperparallel/redistribution.hpp>
#include <hyperparallel/shard.hpp>
#include <hyperparallel/taskflow.hpp>

#include <cstdio>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"cp", 2}, hp::axis{"tp", 4}> {};
using x = hp::layout<mesh, "dp", hp::none, hp::axes("cp", "tp")>;
using y = hp::layout<mesh, hp::none, "cp", "tp">;
static_assert(hp::slice<x>(hp::shape{8, 4096, 7168}, 5) == hp::box{{0, 4}, {0, 4096}, {4480, 5376}});

using move = hp::redistribution<x, y, hp::tensor<hp::bf16, 8, 4096, 7168>>;
static_assert(move::bytes_received == move::lower_bound && move::steps == 1);

using schedule = hp::pipeline<hp::zero_bubble_v, hp::stages<8>, hp::micro_batches<16>>;
static_assert(schedule::ranks == 4 && schedule::makespan == 99);

static_assert(hp::checked_multiply(INT64_MAX, 2).overflow && !hp::checked_multiply(1 << 30, 1 << 30).overflow);
static_assert(hp::h100::topology.level_count == 2);

constexpr hp::extent_t first_column = hp::slice<x>(hp::shape{8, 4096, 7168}, 5).box.dim[2].begin;

__global__ void write_constants(long long* out) {
  out[0] = first_column;
  out[1] = move::bytes_received;
  out[2] = schedule::makespan;
}

int main() {
  const long long expected[] = {4480, move::bytes_received, 99};
  if (first_column != expected[0]) return 1;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("host alone: no device is here\n");
    return 0;
  }
  long long* out = nullptr;
  if (cudaMallocManaged(&out, sizeof expected) != cudaSuccess) return 2;
  write_constants<<<1, 1>>>(out);
  if (cudaDeviceSynchronize() != cudaSuccess) return 3;
  for (int i = 0; i < 3; ++i)
    if (out[i] != expected[i]) return 4;
  std::printf("host and device agree\n");
  return 0;
}
