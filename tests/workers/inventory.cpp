// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Answers --inventory and --survey, or as INVENTORY says: with an exit, or not at all.
#include "talk.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

NCCLPROBE_TEST_WORKER(inventory) {
  using namespace ncclprobe;
  const char* how = std::getenv("INVENTORY");
  if (how != nullptr && std::string(how) == "exit") {
    std::fputs("the driver is too old\n", stderr);
    return 4;
  }
  if (how != nullptr)
    ::pause();
  wire::Channel channel{base::Fd(wire::k_channel_fd)};
  model::HostInventory host;
  host.hostname = argc == 2 ? argv[1] : "?";
  if (argc == 3) {
    model::Survey survey;
    survey.inventory.hostname = std::string(argv[1]) + " " + argv[2];
    return channel.send({-1, wire::Survey{survey}}) ? 0 : 1;
  }
  return channel.send({-1, wire::Inventory{host}}) ? 0 : 1;
}
