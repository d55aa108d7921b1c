// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Replaces the NVIDIA backend in builds without it: everything links, and errors say how to build
// it.
#include "nvidia/factory.h"

namespace ncclprobe::nvidia {
namespace {

constexpr const char* k_not_built =
    "the nvidia backend is not built into this ncclprobe; reconfigure with -DNCCLPROBE_NVIDIA=ON";

} // namespace

std::unique_ptr<backend::Backend> make_backend(const backend::Options&) {
  throw Exception(Error{Errc::unsupported, "the nvidia backend is not built into this ncclprobe",
                        "reconfigure with -DNCCLPROBE_NVIDIA=ON"});
}

std::vector<topology::Host> describe(model::HostInventory& host, const backend::Options&, Cuda) {
  host.nvidia_problem = k_not_built;
  return {};
}

void examine_health(model::Survey& survey, const backend::Options&) {
  survey.health_problem = k_not_built;
}

std::string build_description() {
  return "not built: configure with -DNCCLPROBE_NVIDIA=ON";
}

} // namespace ncclprobe::nvidia
