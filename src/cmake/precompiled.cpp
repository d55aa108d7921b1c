// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Exists so that precompiled.h is compiled (Layers.cmake).
