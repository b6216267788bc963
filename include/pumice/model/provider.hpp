// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Functions of the user's that may take an operator of a model before the library does. One is
// asked each time that the graph is built, the first time with inputs that have no values.
// Operators over constants alone are computed while the file is read, without asking.
#pragma once

#include <pumice/graph/op_request.hpp>
