// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/nvtx/injection.h"
#include "plugin/profiler/abi.h"
#include "plugin/profiler/tracing.h"
#include "trace/rows.h"

#include "support/catch.h"
#include "support/spool_rows.h"

#include <cstdlib>
#include <filesystem>
#include <nvtx3/nvToolsExt.h>
#include <string>
#include <unistd.h>
#include <vector>

using namespace ncclprobe;
namespace our_nvtx = ncclprobe::plugin::nvtx;

TEST_CASE("the plugin's declarations of NVTX are those of its headers") {
  CHECK(sizeof(our_nvtx::EventAttributes) == sizeof(nvtxEventAttributes_t));
  CHECK(offsetof(our_nvtx::EventAttributes, struct_bytes) == offsetof(nvtxEventAttributes_t, size));
  CHECK(offsetof(our_nvtx::EventAttributes, message_type) ==
        offsetof(nvtxEventAttributes_t, messageType));
  CHECK(offsetof(our_nvtx::EventAttributes, message) == offsetof(nvtxEventAttributes_t, message));
  CHECK(int(our_nvtx::k_ascii) == int(NVTX_MESSAGE_TYPE_ASCII));
  CHECK(int(our_nvtx::k_unicode) == int(NVTX_MESSAGE_TYPE_UNICODE));
  CHECK(int(our_nvtx::k_registered) == int(NVTX_MESSAGE_TYPE_REGISTERED));
  CHECK(our_nvtx::k_not_tracked == NVTX_NO_PUSH_POP_TRACKING);
  CHECK(sizeof(our_nvtx::RangeId) == sizeof(nvtxRangeId_t));
  CHECK(sizeof(our_nvtx::Callbacks) == sizeof(NvtxExportTableCallbacks));
  CHECK(offsetof(our_nvtx::Callbacks, module_function_table) ==
        offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
  CHECK(int(our_nvtx::k_callbacks) == int(NVTX_ETID_CALLBACKS));
  CHECK(int(our_nvtx::k_core) == int(NVTX_CB_MODULE_CORE));
  CHECK(int(our_nvtx::k_core2) == int(NVTX_CB_MODULE_CORE2));
  CHECK(int(our_nvtx::k_range_start_ex) == int(NVTX_CBID_CORE_RangeStartEx));
  CHECK(int(our_nvtx::k_range_start_a) == int(NVTX_CBID_CORE_RangeStartA));
  CHECK(int(our_nvtx::k_range_start_w) == int(NVTX_CBID_CORE_RangeStartW));
  CHECK(int(our_nvtx::k_range_end) == int(NVTX_CBID_CORE_RangeEnd));
  CHECK(int(our_nvtx::k_range_push_ex) == int(NVTX_CBID_CORE_RangePushEx));
  CHECK(int(our_nvtx::k_range_push_a) == int(NVTX_CBID_CORE_RangePushA));
  CHECK(int(our_nvtx::k_range_push_w) == int(NVTX_CBID_CORE_RangePushW));
  CHECK(int(our_nvtx::k_range_pop) == int(NVTX_CBID_CORE_RangePop));
  CHECK(int(our_nvtx::k_domain_range_start_ex) == int(NVTX_CBID_CORE2_DomainRangeStartEx));
  CHECK(int(our_nvtx::k_domain_range_end) == int(NVTX_CBID_CORE2_DomainRangeEnd));
  CHECK(int(our_nvtx::k_domain_range_push_ex) == int(NVTX_CBID_CORE2_DomainRangePushEx));
  CHECK(int(our_nvtx::k_domain_range_pop) == int(NVTX_CBID_CORE2_DomainRangePop));
  CHECK(int(our_nvtx::k_domain_register_string_a) == int(NVTX_CBID_CORE2_DomainRegisterStringA));
  CHECK(int(our_nvtx::k_domain_register_string_w) == int(NVTX_CBID_CORE2_DomainRegisterStringW));
  CHECK(int(our_nvtx::k_domain_create_a) == int(NVTX_CBID_CORE2_DomainCreateA));
  CHECK(int(our_nvtx::k_domain_create_w) == int(NVTX_CBID_CORE2_DomainCreateW));
}

// NVTX finds its tool at the first call in the process: only this test calls it.
TEST_CASE("a program's calls of NVTX are recorded") {
  unsetenv("NVTX_INJECTION64_PATH");
  InitializeInjectionNvtx2_fnptr = [](NvtxGetExportTableFunc_t table) {
    return plugin::attach_to_nvtx(table) ? 1 : 0;
  };
  const auto path =
      std::filesystem::temp_directory_path() / ("nvtx-" + std::to_string(getpid()) + ".spool");
  std::filesystem::remove(path);
  trace::SpoolWriter spool;
  REQUIRE(spool.open(path));
  plugin::start_tracing(spool, plugin::Detail::operations);
  void* context = nullptr;
  int mask = 0;
  REQUIRE(ncclProfiler_v5.init(&context, 1, &mask, "world", 1, 1, 0, nullptr) == 0);

  nvtxRangePushA("forward");
  nvtxRangePushW(L"wide");
  nvtxRangePop();
  nvtxRangePop();
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
  nvtxEventAttributes_t what{};
  what.version = NVTX_VERSION;
  what.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  what.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  what.message.registered = nvtxDomainRegisterStringA(domain, "solve");
  nvtxDomainRangePushEx(domain, &what);
  nvtxDomainRangePop(domain);
  nvtxRangeEnd(nvtxRangeStartA("load"));
  plugin::stop_tracing();

  std::vector<std::string> names;
  for (const trace::RangeRow& row : support::rows_in<trace::RangeRow>(path))
    names.push_back(support::text_in(path, row.domain) + ":" + support::text_in(path, row.name));
  CHECK(names == std::vector<std::string>{":wide", ":forward", "library:solve", ":load"});
  std::filesystem::remove(path);
}
