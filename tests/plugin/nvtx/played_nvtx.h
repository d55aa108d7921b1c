// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/nvtx/nvtx_abi.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace ncclprobe::plugin::nvtx {

// A copy of NVTX in a program: tables of functions, which a tool fills.
struct PlayedNvtx {
  static inline std::array<Function, 16> core{}, core2{};
  static inline std::array<Function*, 17> core_places{}, core2_places{}; // the last one is null
  static inline bool has_domains = true;                                 // unlike an old copy

  static int module_function_table(Module module, FunctionTable* table, unsigned* functions) {
    if (module != k_core && (module != k_core2 || !has_domains))
      return 0;
    *table = module == k_core ? core_places.data() : core2_places.data();
    *functions = static_cast<unsigned>(core.size());
    return 1;
  }
  static const void* get_export_table(std::uint32_t table) {
    static constexpr Callbacks callbacks{sizeof(Callbacks), module_function_table};
    return table == k_callbacks ? &callbacks : nullptr;
  }
  PlayedNvtx() {
    for (std::size_t i = 1; i < core.size(); ++i) {
      core_places[i] = &core[i];
      core2_places[i] = &core2[i];
    }
  }

  // Calls what the tool put into the table.
  template <typename Returned, typename... Arguments>
  Returned call(Function function, Arguments... arguments) const {
    return reinterpret_cast<Returned (*)(Arguments...)>(function)(arguments...);
  }
  int push(const char* name) const { return call<int>(core[k_range_push_a], name); }
  int pop() const { return call<int>(core[k_range_pop]); }
  RangeId start(const char* name) const { return call<RangeId>(core[k_range_start_a], name); }
  void end(RangeId range) const { call<void>(core[k_range_end], range); }
  Domain domain(const char* name) const { return call<Domain>(core2[k_domain_create_a], name); }
  int push(Domain domain, const EventAttributes& what) const {
    return call<int>(core2[k_domain_range_push_ex], domain, &what);
  }
  int pop(Domain domain) const { return call<int>(core2[k_domain_range_pop], domain); }
  void* registered(Domain domain, const char* name) const {
    return call<void*>(core2[k_domain_register_string_a], domain, name);
  }
  static EventAttributes named(const char* name) {
    EventAttributes what{};
    what.version = 3;
    what.struct_bytes = sizeof what;
    what.message_type = k_ascii;
    what.message.ascii = name;
    return what;
  }
};

} // namespace ncclprobe::plugin::nvtx
