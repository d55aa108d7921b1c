// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/activity_records.h"
#include "nvidia/activity_session.h"
#include "nvidia/fake_cupti.h"
#include "support/catch.h"

#include <dlfcn.h>

using namespace ncclprobe;
using model::TraceLevel;
using nvidia::ActivityLibrary;
using nvidia::ActivitySession;

namespace {

backend::Options with_cupti(const char* path) {
  backend::Options options;
  options.libraries = {{"cupti", path}};
  return options;
}

// A session with a stand-in for CUPTI, and what that one has seen.
class Traced {
public:
  Traced(const char* path, TraceLevel level)
      : handle_(dlopen(path, RTLD_NOW)), session_(ActivityLibrary(with_cupti(path)), level) {
    find(records_, "fake_cupti_records");
    find(calls_, "fake_cupti_calls");
    find(runtime_calls_, "fake_cupti_runtime_calls");
    find(request_, "fake_cupti_request");
    find(complete_, "fake_cupti_complete");
  }

  ActivitySession& session() { return session_; }
  bool records(CUpti_ActivityKind kind) const { return records_(kind) != 0; }
  int calls() const { return calls_(); }
  int runtime_calls() const { return runtime_calls_(); }
  std::uint8_t* request(std::size_t& bytes) const { return request_(&bytes); }
  void complete(std::uint8_t* buffer, std::size_t valid_bytes) const {
    complete_(buffer, valid_bytes);
  }

private:
  template <typename Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    REQUIRE(function != nullptr);
  }

  void* handle_;
  ActivitySession session_;
  decltype(&fake_cupti_records) records_ = nullptr;
  decltype(&fake_cupti_calls) calls_ = nullptr;
  decltype(&fake_cupti_runtime_calls) runtime_calls_ = nullptr;
  decltype(&fake_cupti_request) request_ = nullptr;
  decltype(&fake_cupti_complete) complete_ = nullptr;
};

} // namespace

TEST_CASE("a CUPTI of another CUDA major version is refused with both versions and the way out") {
  try {
    ActivityLibrary library(with_cupti(FAKE_CUPTI_OTHER));
    FAIL("not refused");
  } catch (const base::Exception& error) {
    int other = CUPTI_API_VERSION >= 130000 ? 12 : 13;
    CHECK(error.error().code == base::Errc::unsupported);
    CHECK_THAT(error.error().message, ContainsSubstring(fmt::format("belongs to CUDA {}", other)));
    CHECK_THAT(error.error().message,
               ContainsSubstring(fmt::format("of CUDA {}", CUDART_VERSION / 1000)));
    CHECK_THAT(error.error().hint, ContainsSubstring("--library cupti="));
  }
}

TEST_CASE("a CUPTI that can choose is asked for the calls that launch or copy, and no others") {
  int few = 0;
  {
    Traced kernels(FAKE_CUPTI, TraceLevel::kernels);
    few = kernels.calls();
    CHECK(few > 0);
    CHECK(kernels.runtime_calls() == 0);
    CHECK_FALSE(kernels.records(CUPTI_ACTIVITY_KIND_DRIVER));
    CHECK(kernels.records(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    CHECK_FALSE(kernels.records(CUPTI_ACTIVITY_KIND_KERNEL));
  }
  Traced api(FAKE_CUPTI, TraceLevel::api);
  CHECK(api.calls() > few);
  CHECK(api.runtime_calls() > 0);
}

TEST_CASE("an early CUPTI is asked for all calls, of the runtime too") {
  {
    Traced kernels(FAKE_CUPTI_PLAIN, TraceLevel::kernels);
    CHECK(kernels.records(CUPTI_ACTIVITY_KIND_DRIVER));
    CHECK(kernels.records(CUPTI_ACTIVITY_KIND_RUNTIME));
    CHECK(kernels.calls() == 0);
  }
  Traced api(FAKE_CUPTI_PLAIN, TraceLevel::api);
  CHECK(api.records(CUPTI_ACTIVITY_KIND_DRIVER));
  CHECK(api.records(CUPTI_ACTIVITY_KIND_RUNTIME));
  CHECK(api.records(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
  CHECK_FALSE(api.records(CUPTI_ACTIVITY_KIND_CUDA_EVENT)); // without their times
}

TEST_CASE("CUPTI is asked for operations where it may cost something, and nowhere else") {
  {
    Traced full(FAKE_CUPTI, TraceLevel::full);
    CHECK(full.records(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));
  }
  Traced api(FAKE_CUPTI, TraceLevel::api);
  CHECK_FALSE(api.records(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));
}

TEST_CASE("events are recorded where their times are told") {
  Traced api(FAKE_CUPTI, TraceLevel::api);
  CHECK(api.records(CUPTI_ACTIVITY_KIND_CUDA_EVENT) == nvidia::k_tells_event_times);
}

TEST_CASE("where no buffer is free, CUPTI is refused, or what it cannot do without is counted") {
  Traced traced(FAKE_CUPTI_PLAIN, TraceLevel::kernels);
  std::vector<std::uint8_t*> taken;
  std::size_t bytes = 0;
  std::uint64_t refused = traced.session().buffers().refused();
  std::uint8_t* buffer = nullptr;
  while (true) {
    buffer = traced.request(bytes);
    if (traced.session().buffers().refused() != refused)
      break;
    taken.push_back(buffer);
  }

  CHECK_FALSE(taken.empty());
  bool bears_refusal = CUPTI_API_VERSION >= 130000;
  CHECK((buffer == nullptr) == bears_refusal);
  if (buffer != nullptr) {
    CHECK(bytes > 0);
    traced.complete(buffer, 7);
    CHECK(traced.session().dropped() == 7);
    CHECK(traced.session().dropped() == 0);
  }
  for (std::uint8_t* one : taken)
    traced.complete(one, 1);
}
