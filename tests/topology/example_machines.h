// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

// Made-up machines: every fact has Source::synthetic.
namespace ncclprobe::topology_test {

// Two GPUs under one switch and a NIC, with every field of the model set.
topology::Machine full_machine();

} // namespace ncclprobe::topology_test
