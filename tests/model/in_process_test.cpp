// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/in_process.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace ncclprobe::model {
namespace {

bool accepts(std::string_view backend, const Setting& setting) {
  return check_in_process(backend, setting).has_value();
}

TEST_CASE("each backend has its in-process settings, with their values") {
  CHECK(accepts("nvidia", {"algorithm", "NVLSTree"}));
  CHECK(accepts("nvidia", {"protocol", "LL128"}));
  CHECK(accepts("nvidia", {"channels", "64"}));
  CHECK_FALSE(accepts("nvidia", {"channels", "65"}));
  CHECK_FALSE(accepts("nvidia", {"channels", "0"}));
  CHECK_FALSE(accepts("nvidia", {"channels", "8 "}));
  CHECK_FALSE(accepts("nvidia", {"algorithm", "ring"}));
  CHECK(accepts("host", {"algorithm", "ring"}));
  CHECK(accepts("host", {"chunk_bytes", "64K"}));
  CHECK_FALSE(accepts("host", {"chunk_bytes", "1000"}));
  CHECK_FALSE(accepts("host", {"chunk_bytes", "2G"}));
  CHECK_FALSE(accepts("host", {"protocol", "LL"}));
  CHECK(accepts("synthetic", {"gb_per_s", "12.5"}));
  CHECK_FALSE(accepts("synthetic", {"gb_per_s", "0"}));
  CHECK_FALSE(accepts("unheard-of", {"algorithm", "ring"}));
}

TEST_CASE("an in-process setting is refused with what it may be") {
  auto name = check_in_process("host", {"protocol", "LL"});
  auto word = check_in_process("host", {"algorithm", "tree"});
  REQUIRE_FALSE(name);
  REQUIRE_FALSE(word);

  CHECK(name.error().code == Errc::invalid_argument);
  CHECK_THAT(name.error().text(), ContainsSubstring("algorithm, chunk_bytes"));
  CHECK_THAT(word.error().text(), ContainsSubstring("auto, ring, bcube"));
}

TEST_CASE("settings of a cell replace the process's variables of the same effect") {
  auto changed = environment_with({{"NCCLPROBE_GLOO_ALGORITHM", "ring"}, {"A", "1"}}, "host",
                                  {{"algorithm", "bcube"}, {"chunk_bytes", "64K"}});

  CHECK(changed == std::map<std::string, std::string>{{"A", "1"},
                                                      {"NCCLPROBE_GLOO_ALGORITHM", "bcube"},
                                                      {"NCCLPROBE_GLOO_CHUNK_BYTES", "64K"}});
  Error error = support::error_of([] { environment_with({}, "nvidia", {{"channels", "4"}}); });
  CHECK(error.code == Errc::unsupported);
  CHECK_THAT(error.message, ContainsSubstring("channels"));
}

} // namespace
} // namespace ncclprobe::model
