// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

// Where the tests find their files. Only one object knows these paths, so ccache serves all other
// objects to every checkout.
namespace ncclprobe::support {

std::string source_dir();
std::string bin_dir(); // of the built programs

} // namespace ncclprobe::support
