// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/split.h"
#include "host/network_address.h"
#include "host/settings.h"
#include "model/in_process.h"
#include "support/catch.h"
#include "support/error_of.h"

namespace ncclprobe::host {
namespace {

using base::Errc;
using support::error_of;

TEST_CASE("without settings the algorithm is chosen by the backend") {
  HostSettings settings = HostSettings::parse({{"NCCL_ALGO", "Ring"}});

  CHECK(settings.algorithm == AlgorithmChoice::automatic);
  CHECK(settings.chunk_bytes == 1024 * 1024);
}

TEST_CASE("the settings name the algorithm and the chunk size") {
  HostSettings ring = HostSettings::parse(
      {{"NCCLPROBE_GLOO_ALGORITHM", "ring"}, {"NCCLPROBE_GLOO_CHUNK_BYTES", "64K"}});
  HostSettings bcube = HostSettings::parse({{"NCCLPROBE_GLOO_ALGORITHM", "bcube"}});

  CHECK(ring.chunk_bytes == 65536);
  for (std::uint64_t bytes : {8ULL, 1ULL << 30}) {
    CHECK(ring.all_reduce_algorithm(2, bytes) == AllReduceAlgorithm::ring);
    CHECK(bcube.all_reduce_algorithm(2, bytes) == AllReduceAlgorithm::bcube);
  }
}

TEST_CASE("left alone, small messages and two ranks take bcube, large messages of more the ring") {
  HostSettings settings;

  CHECK(settings.all_reduce_algorithm(2, 1U << 30) == AllReduceAlgorithm::bcube);
  CHECK(settings.all_reduce_algorithm(8, 1U << 20) == AllReduceAlgorithm::bcube);
  CHECK(settings.all_reduce_algorithm(3, 1U << 22) == AllReduceAlgorithm::ring);
}

TEST_CASE("an unknown algorithm is refused with the legal words") {
  base::Error error = error_of([] { HostSettings::parse({{"NCCLPROBE_GLOO_ALGORITHM", "tree"}}); });

  CHECK(error.code == Errc::invalid_argument);
  CHECK_THAT(error.text(), ContainsSubstring("NCCLPROBE_GLOO_ALGORITHM"));
  CHECK_THAT(error.text(), ContainsSubstring("auto, ring, bcube"));
}

TEST_CASE("a chunk size that is no size or out of range is refused") {
  for (const char* text : {"", "many", "16", "2G"}) {
    base::Error error = error_of([&] {
      HostSettings::parse({{"NCCLPROBE_GLOO_CHUNK_BYTES", text}});
    });
    CHECK(error.code == Errc::invalid_argument);
  }
}

TEST_CASE("settings of a cell have the variables' values") {
  for (const model::InProcessSetting& setting : model::in_process_settings("host")) {
    std::string name(setting.variable);
    std::string too_long = std::to_string(setting.most + 1);
    REQUIRE(HostSettings::reads(name));
    if (setting.kind == model::InProcessSetting::Kind::words) {
      for (std::string_view word : base::split(setting.words, ','))
        CHECK_NOTHROW(HostSettings::parse({{name, std::string(word)}}));
    } else {
      CHECK_NOTHROW(HostSettings::parse({{name, std::to_string(setting.least)}}));
      CHECK_NOTHROW(HostSettings::parse({{name, std::to_string(setting.most)}}));
      CHECK(error_of([&] {
              HostSettings::parse({{name, too_long}});
            }).code == Errc::invalid_argument);
    }
  }
}

TEST_CASE("ranks of one host get a loopback address each") {
  backend::Options options;
  options.host_of_rank = {3, 3, 3};

  CHECK(address_of_rank(options, 0) == "127.1.0.1");
  CHECK(address_of_rank(options, 249) == "127.1.0.250");
  CHECK(address_of_rank(options, 250) == "127.1.1.1");
}

TEST_CASE("GLOO_SOCKET_IFNAME names the interface") {
  backend::Options options;
  options.host_of_rank = {0, 1};
  options.environment["GLOO_SOCKET_IFNAME"] = "lo";

  CHECK(address_of_rank(options, 1) == "127.0.0.1");
}

TEST_CASE("an interface that does not exist is named in the error") {
  backend::Options options;
  options.environment["GLOO_SOCKET_IFNAME"] = "nosuch0";

  base::Error error = error_of([&] { address_of_rank(options, 0); });

  CHECK(error.code == Errc::unavailable);
  CHECK_THAT(error.text(), ContainsSubstring("nosuch0"));
}

} // namespace
} // namespace ncclprobe::host
