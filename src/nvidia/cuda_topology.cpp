// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/cuda_topology.h"

#include "nvidia/cuda_gpu.h"

#include <cuda_runtime_api.h>

namespace ncclprobe::nvidia {
namespace {

using topology::Fact;
using topology::P2pStatus;
using topology::Source;

std::optional<bool> can(cudaDeviceP2PAttr what, int from, int to) {
  int value = 0;
  if (cudaDeviceGetP2PAttribute(&value, what, from, to) != cudaSuccess) {
    (void)cudaGetLastError(); // or the next call would report it
    return std::nullopt;
  }
  return value != 0;
}

// CUDA says yes or no, without a reason.
Fact<P2pStatus> status(std::optional<bool> answer) {
  if (!answer)
    return {};
  return {*answer ? P2pStatus::ok : P2pStatus::not_supported, Source::cuda};
}

topology::P2pCapability describe_pair(int from, int to) {
  topology::P2pCapability pair;
  pair.from = from;
  pair.to = to;
  pair.can_access = {can(cudaDevP2PAttrAccessSupported, from, to), Source::cuda};
  pair.atomics = status(can(cudaDevP2PAttrNativeAtomicSupported, from, to));
  return pair;
}

} // namespace

topology::Host cuda_topology() {
  topology::Host host;
  int count = count_gpus();
  for (int index = 0; index < count; ++index) {
    topology::Gpu gpu;
    gpu.index = index;
    gpu.bus_id = {topology::normal_bus_id(pci_bus_id(index)), Source::cuda};
    int multiprocessors = 0;
    if (cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, index) ==
        cudaSuccess)
      gpu.multiprocessors = {multiprocessors, Source::cuda};
    host.gpus.push_back(std::move(gpu));
  }
  for (int from = 0; from < count; ++from)
    for (int to = 0; to < count; ++to)
      if (from != to)
        host.p2p.push_back(describe_pair(from, to));
  return host;
}

} // namespace ncclprobe::nvidia
