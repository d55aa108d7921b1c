// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "fuzz/use_machine.h"

#include "machine/machine_json.h"
#include "machine/validate.h"

#include "topology/render/dot.h"
#include "topology/render/matrix.h"
#include "topology/render/nccl_xml.h"
#include "topology/render/svg.h"
#include "topology/render/tree.h"

#include <cstdlib>

namespace ncclprobe::fuzz {

void use(const base::Result<topology::Machine>& machine) {
  if (!machine)
    return;
  // Whoever takes a machine relies on this.
  if (!topology::validate(*machine, "fuzz"))
    std::abort();
  topology::render_matrix(*machine, topology::Legend::yes);
  topology::render_tree(*machine, topology::Lines::ascii);
  topology::render_dot(*machine);
  topology::render_svg(*machine);
  (void)topology::write_nccl_xml(*machine);
  // Written output must be readable and equal the original.
  auto again = topology::read_machine_json(topology::write_machine_json(*machine), "again");
  if (!again || topology::write_machine_json(*again) != topology::write_machine_json(*machine))
    std::abort();
}

} // namespace ncclprobe::fuzz
