// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/device.h"

#include "nvidia/buffer.h"
#include "nvidia/stream.h"

namespace ncclprobe::nvidia {

std::unique_ptr<backend::Buffer> GpuDevice::allocate(std::uint64_t bytes) {
  return std::make_unique<GpuBuffer>(gpu_, bytes);
}

std::unique_ptr<backend::Stream> GpuDevice::open_stream(int priority) {
  return std::make_unique<GpuStream>(gpu_, priority);
}

std::unique_ptr<backend::Event> GpuDevice::create_event() {
  return std::make_unique<GpuEvent>(gpu_);
}

} // namespace ncclprobe::nvidia
