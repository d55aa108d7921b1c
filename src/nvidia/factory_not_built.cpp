// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Replaces the NVIDIA backend in workers without it: everything links, and errors say what to do.
#include "nvidia/factory.h"

namespace ncclprobe::nvidia {
namespace {

#ifdef NCCLPROBE_PACKAGE // of a package
constexpr const char* k_what = "this worker has no nvidia backend";
constexpr const char* k_fix = "`ncclprobe --version` says why it was chosen";
constexpr const char* k_description = "none";
#else
constexpr const char* k_what = "the nvidia backend is not built into this ncclprobe";
constexpr const char* k_fix = "reconfigure with -DNCCLPROBE_NVIDIA=ON";
constexpr const char* k_description = "not built: configure with -DNCCLPROBE_NVIDIA=ON";
#endif

std::string what_and_fix() {
  return std::string(k_what) + "; " + k_fix;
}

} // namespace

std::unique_ptr<backend::Backend> make_backend(const backend::Options&) {
  throw Exception(Error{Errc::unsupported, k_what, k_fix});
}

std::vector<topology::Host> describe(model::HostInventory& host, const backend::Options&, Cuda) {
  host.nvidia_problem = what_and_fix();
  return {};
}

void examine_health(model::Survey& survey, const backend::Options&) {
  survey.health_problem = what_and_fix();
}

std::string build_description() {
  return k_description;
}

std::string header_versions() {
  return {};
}

} // namespace ncclprobe::nvidia
