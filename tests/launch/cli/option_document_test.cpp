// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// docs/options.md is what the program generates: NCCLPROBE_ACCEPT_GOLDEN=1 renews it.
#include "launch/cli/commands.h"
#include "launch/cli/common/help.h"
#include "launch/cli/job/session.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace ncclprobe;
using namespace ncclprobe::cli;

TEST_CASE("docs/options.md lists the options of the program") {
  const World world;
  std::vector<Usage> usages;
  for (Command& command : commands(world))
    usages.push_back(std::move(command.usage));
  support::check_golden("../../docs/options.md", options_markdown(usages));
}
