// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/doctor_connections.h"

#include "analysis/doctor/interface_choice.h"
#include "launch/reachability.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <future>

namespace ncclprobe::cli {
namespace {

using analysis::doctor::Connection;

constexpr std::chrono::milliseconds k_patience{3000};
// Of many ranks each tries its next ones: a ring of tries covers all hosts.
constexpr int k_most_tries = 32;

// Where this rank would be met; an IPv6 address that holds on one link only cannot be named to
// another host.
std::string meeting_address(const Ward& ward, const std::string& backend) {
  const model::Survey& own = ward.surveys[static_cast<std::size_t>(ward.fleet->rank())];
  for (const model::Survey& survey : ward.surveys) {
    if (!survey.host || survey.inventory.boot_id != own.inventory.boot_id)
      continue;
    auto place = analysis::doctor::meeting_place(survey.host->interfaces, own, backend);
    return place.address.starts_with("fe80:") ? "" : place.address;
  }
  return "";
}

nlohmann::json tell(const Connection& one) {
  return {one.from_rank, one.to_rank, one.address, one.problem};
}

Connection try_one(Connection one, int port) {
  if (port == 0)
    one.problem = "it cannot listen there";
  else if (auto made = launch::try_to_connect(one.address, port, k_patience); !made)
    one.problem = made.error().message;
  return one;
}

} // namespace

base::Result<std::vector<Connection>> connect_ranks(Ward& ward, const std::string& backend) {
  launch::Fleet& fleet = *ward.fleet;
  bool several_hosts = ward.hosts.size() > 1; // on one, Gloo stays on the loopback
  std::string address = meeting_address(ward, several_hosts ? backend : "");
  auto listener = launch::Listener::open(address);
  nlohmann::json place = {address, listener ? listener->port() : 0};
  NCCLPROBE_TRY_ASSIGN(const auto places, fleet.all_gather(place.dump()));
  nlohmann::json found = nlohmann::json::array();
  try {
    std::vector<std::future<Connection>> tries; // at once: each may take its whole patience
    for (int step = 1; step <= std::min(fleet.size() - 1, k_most_tries); ++step) {
      int to = (fleet.rank() + step) % fleet.size();
      auto there = nlohmann::json::parse(places[static_cast<std::size_t>(to)]);
      Connection one{fleet.rank(), to, there.at(0).get<std::string>(), ""};
      int port = there.at(1).get<int>();
      if (!one.address.empty()) // else said by another finding
        tries.push_back(std::async(std::launch::async, try_one, std::move(one), port));
    }
    for (std::future<Connection>& one : tries)
      found.push_back(tell(one.get()));
    std::vector<Connection> all;
    NCCLPROBE_TRY_ASSIGN(const auto texts, fleet.all_gather(found.dump())); // all listen until here
    for (const std::string& text : texts)
      for (const nlohmann::json& one : nlohmann::json::parse(text))
        all.push_back({one.at(0).get<int>(), one.at(1).get<int>(), one.at(2).get<std::string>(),
                       one.at(3).get<std::string>()});
    return all;
  } catch (const nlohmann::json::exception& error) {
    return base::fail(base::Errc::protocol, "another rank's connections do not parse: {}",
                      error.what());
  }
}

} // namespace ncclprobe::cli
