// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/clock_tracer.h"
#include "nvidia/cupti_tracer.h"

namespace ncclprobe::nvidia {

std::unique_ptr<backend::Tracer> start_tracer(const backend::Options&,
                                              const backend::TraceRequest& request,
                                              const std::shared_ptr<TraceLink>& link) {
  return std::make_unique<ClockTracer>(request, std::shared_ptr<GpuClocks>(link, &link->clocks),
                                       "no kernels, copies and calls of CUDA: ncclprobe was built "
                                       "with CUDA " NCCLPROBE_CUDA_VERSION
                                       ", and tracing them needs 13 or later");
}

} // namespace ncclprobe::nvidia
