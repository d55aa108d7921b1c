// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/doctor/doctor_connections.h"

#include "analysis/doctor/interface_choice.h"
#include "base/json_document.h"
#include "launch/supervisor/reachability.h"

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
std::string meeting_address(const SurveyedJob& job, const std::string& backend) {
  const model::Survey& own = job.surveys[static_cast<std::size_t>(job.fleet->rank())];
  for (const model::Survey& survey : job.surveys) {
    if (!survey.host || survey.inventory.boot_id != own.inventory.boot_id ||
        survey.inventory.hostname != own.inventory.hostname)
      continue;
    auto place = analysis::doctor::bootstrap_address(survey.host->interfaces, own, backend);
    return place.address.starts_with("fe80:") ? "" : place.address;
  }
  return "";
}

struct Place {
  std::string address;
  int port = 0; // 0: nobody listens
};
NCCLPROBE_FIELDS(Place, address, port)

Connection try_one(Connection one, int port) {
  if (port == 0)
    one.problem = "it cannot listen there";
  else if (auto made = launch::try_to_connect(one.address, port, k_patience); !made)
    one.problem = made.error().message;
  return one;
}

} // namespace

base::Result<std::vector<Connection>> connect_ranks(SurveyedJob& job, const std::string& backend) {
  launch::Fleet& fleet = *job.fleet;
  bool several_hosts = job.hosts.size() > 1; // on one, Gloo stays on the loopback
  std::string address = meeting_address(job, several_hosts ? backend : "");
  auto listener = launch::Listener::open(address);
  const Place own{address, listener ? listener->port() : 0};
  NCCLPROBE_TRY_ASSIGN(const auto places, fleet.all_gather(base::write_json(own)));
  std::vector<std::future<Connection>> tries; // at once: each may take its whole patience
  for (int step = 1; step <= std::min(fleet.size() - 1, k_most_tries); ++step) {
    int to = (fleet.rank() + step) % fleet.size();
    NCCLPROBE_TRY_ASSIGN(const Place there,
                         base::parse_json<Place>(places[static_cast<std::size_t>(to)]));
    Connection one{fleet.rank(), to, there.address, ""};
    if (!one.address.empty()) // else said by another finding
      tries.push_back(std::async(std::launch::async, try_one, std::move(one), there.port));
  }
  std::vector<Connection> found;
  for (std::future<Connection>& one : tries)
    found.push_back(one.get());
  std::vector<Connection> all;
  NCCLPROBE_TRY_ASSIGN(const auto texts,
                       fleet.all_gather(base::write_json(found))); // all listen until here
  for (const std::string& text : texts) {
    NCCLPROBE_TRY_ASSIGN(const auto theirs, base::parse_json<std::vector<Connection>>(text));
    all.insert(all.end(), theirs.begin(), theirs.end());
  }
  return all;
}

} // namespace ncclprobe::cli
