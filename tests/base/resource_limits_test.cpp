// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/resource_limits.h"
#include "support/catch.h"

#include <new>
#include <stdexcept>
#include <sys/resource.h>
#include <system_error>

using namespace ncclprobe;

namespace {

// For the life of the object, of this process.
class Limit {
public:
  Limit(decltype(RLIMIT_AS) which, rlim_t bytes) : which_(which) {
    ::getrlimit(which, &before_);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(which, &now);
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
  ~Limit() { ::setrlimit(which_, &before_); }

private:
  decltype(RLIMIT_AS) which_;
  rlimit before_{};
};

} // namespace

TEST_CASE("a limit is told in the words of the shell that sets it, and none not at all") {
  {
    Limit limit(RLIMIT_FSIZE, 1 << 20);
    CHECK(base::file_size_limit() == "`ulimit -f` allows files of at most 1 MiB");
  }
  Limit none(RLIMIT_FSIZE, RLIM_INFINITY);
  CHECK(base::file_size_limit().empty());
}

TEST_CASE("lack of memory and of threads are told from defects") {
  auto memory = base::shortage_behind(std::bad_alloc());
  auto threads = base::shortage_behind(
      std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)));

  REQUIRE(memory);
  CHECK(memory->message == "there is not enough memory");
  REQUIRE(threads);
  CHECK(threads->message == "no more threads can be started");
  CHECK(threads->code == base::Errc::unavailable);
  CHECK_FALSE(base::shortage_behind(std::runtime_error("Resource temporarily unavailable")));
  CHECK_FALSE(
      base::shortage_behind(std::system_error(std::make_error_code(std::errc::permission_denied))));
}

TEST_CASE("too little room for libraries is found before they crash") {
  const std::uint64_t own = base::address_space_bytes();
  REQUIRE(own > 1 << 20);
  {
    Limit tight(RLIMIT_AS, own + (1 << 20));
    auto checked = base::check_memory_limit();
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == base::Errc::unavailable);
    CHECK_THAT(checked.error().hint, ContainsSubstring("`ulimit -v` allows"));
  }
  Limit enough(RLIMIT_AS, own + (1ULL << 40));
  CHECK(base::check_memory_limit());
}

TEST_CASE("an exception is told in its own words, unless they say nothing") {
  CHECK(base::words_of(std::runtime_error("no route to host")) == "no route to host");
  CHECK_THAT(base::words_of(std::bad_alloc()), ContainsSubstring("there is not enough memory"));
}
