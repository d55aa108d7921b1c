// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/nccl_places.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::cli;

namespace {

model::HostInventory host(const std::string& name, const std::string& nccl) {
  model::HostInventory one;
  one.hostname = name;
  one.boot_id = name;
  one.libraries = {{"nccl", nccl, "/usr/lib/libnccl.so.2", ""}};
  return one;
}

launch::SupervisorReport report(const std::string& hostname,
                                std::vector<model::Setting> environment) {
  launch::SupervisorReport one;
  one.hostname = hostname;
  one.boot_id = hostname;
  one.environment = std::move(environment);
  return one;
}

// Two hosts of which each has a rank.
Session session(std::vector<model::Setting> first, std::vector<model::Setting> second) {
  Session one;
  one.backend.name = "nvidia";
  one.hosts = {host("alpha", "2.28.9"), host("beta", "2.22.3")};
  one.reports = {report("alpha", std::move(first)), report("beta", std::move(second))};
  return one;
}

} // namespace

TEST_CASE("an environment that NCCL refuses stops a run before it starts") {
  auto checked = check_environment(session({{"NCCL_ALGO", "Rng"}}, {}), World{}, {});

  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == base::Errc::mismatch);
  CHECK_THAT(
      checked.error().message,
      ContainsSubstring("NCCL 2.28.9 on alpha refuses NCCL_ALGO=Rng: 'Rng' is not one of Tree"));
  CHECK_THAT(checked.error().message, ContainsSubstring("did you mean NCCL_ALGO=Ring?"));
  CHECK(checked.error().hint == "unset NCCL_ALGO; nothing was started");
}

TEST_CASE("each rank's environment is judged by the NCCL of its own host") {
  // Before 2.24.3 an unknown word was ignored.
  CHECK(check_environment(session({}, {{"NCCL_ALGO", "Rng"}}), World{}, {}));

  auto checked = check_environment(session({}, {{"NCCL_NET", "Sockets"}}), World{}, {});
  REQUIRE_FALSE(checked);
  CHECK_THAT(checked.error().message,
             ContainsSubstring("rank 1: NCCL 2.22.3 on beta refuses NCCL_NET=Sockets"));
}

TEST_CASE("what a plugin could make right can be overridden, an algorithm cannot") {
  Session network = session({{"NCCL_NET", "Sockets"}}, {});
  CHECK_FALSE(check_environment(network, World{}, {}));
  CHECK(check_environment(network, World{}, {"NCCL_NET"}));

  Session algorithm = session({{"NCCL_ALGO", "Rng"}}, {});
  CHECK_FALSE(check_environment(algorithm, World{}, {"NCCL_ALGO"}));
}

TEST_CASE("where no NCCL runs its variables stop nothing") {
  Session on_the_cpu = session({{"NCCL_ALGO", "Rng"}}, {});
  on_the_cpu.backend.name = "host";
  CHECK(check_environment(on_the_cpu, World{}, {}));
}

TEST_CASE("values that NCCL only misreads stop nothing") {
  CHECK(check_environment(session({{"NCCL_P2P_DISABLE", "yes"}, {"NCCL_ALOG", "Ring"}}, {}),
                          World{}, {}));
}

TEST_CASE("a place has the version and the adapters of its host's inventory") {
  Session two = session({}, {});
  two.hosts[1].topology.nics.resize(1);
  two.hosts[1].topology.nics[0].kind.value = topology::NicKind::infiniband;

  auto places = nccl_places(two, World{}, {});

  REQUIRE(places.size() == 2);
  CHECK(places[0].host == "alpha");
  CHECK(places[0].version == 22809);
  CHECK(places[0].has_rdma == false);
  CHECK(places[0].interfaces.has_value());
  CHECK(places[1].version == 22203);
  CHECK(places[1].has_rdma == true);
  CHECK_FALSE(places[1].interfaces.has_value()); // of another host
}
