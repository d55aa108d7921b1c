// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "nvidia/gpu.h"

#include <memory>

namespace ncclprobe::nvidia {

class GpuDevice final : public backend::Device {
public:
  explicit GpuDevice(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  const std::shared_ptr<Gpu>& gpu() const { return gpu_; }

  std::unique_ptr<backend::Buffer> allocate(std::uint64_t bytes) override;
  std::unique_ptr<backend::Stream> open_stream(int priority) override;
  std::unique_ptr<backend::Event> create_event(backend::EventUse use) override;
  std::int64_t elapsed_ns(backend::Event& begin, backend::Event& end) override;

private:
  std::shared_ptr<Gpu> gpu_;
};

} // namespace ncclprobe::nvidia
