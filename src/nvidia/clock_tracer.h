// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/tracer.h"
#include "nvidia/clock_readings.h"

#include <memory>
#include <string>

namespace ncclprobe::nvidia {

// The trace without CUPTI: only readings of the GPUs' clocks, which place NCCL's own events on the
// host's clock.
class ClockTracer : public backend::Tracer {
public:
  // `missing`: what is not traced, and why.
  ClockTracer(backend::TraceRequest request, std::shared_ptr<GpuClocks> clocks, std::string missing)
      : request_(std::move(request)), clocks_(std::move(clocks)), missing_(std::move(missing)) {}

  void begin_operation(std::uint32_t, std::uint64_t) override {}
  void end_operation(std::uint64_t) override {}
  void flush() override;
  void finish() override;
  std::string missing() const override { return missing_; }

protected:
  const backend::TraceRequest& request() const { return request_; }

private:
  void read_clocks();

  backend::TraceRequest request_;
  std::shared_ptr<GpuClocks> clocks_;
  std::string missing_;
  std::int64_t last_reading_ns_ = 0;
};

} // namespace ncclprobe::nvidia
