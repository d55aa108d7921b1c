// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Stands in for the NVIDIA backend in builds without it: everything links, and says what to do.
#include "nvidia/factory.h"

namespace ncclprobe::nvidia {

std::unique_ptr<backend::Backend> make_backend(const backend::Options&) {
  throw base::Exception(base::Error{base::Errc::unsupported,
                                    "the nvidia backend is not built into this ncclprobe",
                                    "reconfigure with -DNCCLPROBE_NVIDIA=ON"});
}

void describe(model::Host& host, const backend::Options&) {
  host.nvidia_problem = "the nvidia backend is not built into this ncclprobe; reconfigure with "
                        "-DNCCLPROBE_NVIDIA=ON";
}

std::string build_description() {
  return "not built: configure with -DNCCLPROBE_NVIDIA=ON";
}

} // namespace ncclprobe::nvidia
