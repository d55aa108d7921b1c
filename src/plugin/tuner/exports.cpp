// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/tuner/abi.h"
#include "plugin/tuner/decision.h"

#include <exception>

namespace {

using namespace ncclprobe;
using namespace ncclprobe::plugin;

constexpr const char* k_tuner_name = "ncclprobe";

tuner_abi::Result open_tuner(int interface, void** context, std::size_t ranks, std::size_t nodes,
                             const tuner_abi::NvlinkDomains* domains, tuner_abi::Logger log) {
  tuning::Shape shape{static_cast<int>(ranks), static_cast<int>(nodes), {}};
  if (domains != nullptr)
    shape.domains = {domains->count, domains->least_ranks, domains->most_ranks};
  try {
    *context = open_tuned_communicator(interface, shape, log);
  } catch (const std::exception& error) { // memory
    if (log != nullptr)
      log(tuner_abi::k_log_warn, tuner_abi::k_log_init, __FILE__, __LINE__, "ncclprobe: %s",
          error.what());
    *context = nullptr;
  }
  return *context == nullptr ? tuner_abi::k_invalid_usage : tuner_abi::k_success;
}

template <int Version>
tuner_abi::Result init_v3(std::size_t ranks, std::size_t nodes, tuner_abi::Logger log,
                          void** context) {
  return open_tuner(Version, context, ranks, nodes, nullptr, log);
}

template <int Version>
tuner_abi::Result init_v5(void** context, std::uint64_t, std::size_t ranks, std::size_t nodes,
                          tuner_abi::Logger log, tuner_abi::NvlinkDomains* domains,
                          tuner_abi::Constants*) {
  return open_tuner(Version, context, ranks, nodes, domains, log);
}

tuner_abi::Result get_coll_info_v4(void* context, int collective, std::size_t bytes, int operations,
                                   float** costs, int algorithms, int protocols, int /*registered*/,
                                   int* channels) {
  if (context != nullptr && costs != nullptr && channels != nullptr && algorithms > 0 &&
      protocols > 0)
    decide(context, {collective,
                     bytes,
                     operations,
                     {reinterpret_cast<float*>(costs),
                      static_cast<std::size_t>(algorithms) * static_cast<std::size_t>(protocols)},
                     protocols,
                     channels});
  return tuner_abi::k_success;
}

tuner_abi::Result get_coll_info_v3(void* context, int collective, std::size_t bytes, int operations,
                                   float** costs, int algorithms, int protocols, int* channels) {
  return get_coll_info_v4(context, collective, bytes, operations, costs, algorithms, protocols, 0,
                          channels);
}

tuner_abi::Result close_tuner(void* context) {
  close_tuned_communicator(context);
  return tuner_abi::k_success;
}

} // namespace

extern "C" {
[[gnu::visibility("default")]] tuner_abi::TunerV3 ncclTunerPlugin_v3{k_tuner_name, init_v3<3>,
                                                                     get_coll_info_v3, close_tuner};
[[gnu::visibility("default")]] tuner_abi::TunerV4 ncclTunerPlugin_v4{k_tuner_name, init_v3<4>,
                                                                     get_coll_info_v4, close_tuner};
[[gnu::visibility("default")]] tuner_abi::TunerV5 ncclTunerPlugin_v5{k_tuner_name, init_v5<5>,
                                                                     get_coll_info_v4, close_tuner};
[[gnu::visibility("default")]] tuner_abi::TunerV6 ncclTunerPlugin_v6{
    k_tuner_name, init_v5<6>, get_coll_info_v4, close_tuner, nullptr};
}
