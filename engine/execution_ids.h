// SPDX-License-Identifier: Apache-2.0
// Indices of the simulated executor, each its own type, and tables that take no other.
#pragma once

#include <vector>

#include "engine/ids.h"

namespace orrery {

enum class ConnectionId : std::uint32_t {};       // Transfers::connections
enum class ConnectionClassId : std::uint32_t {};  // Quotient::connections
enum class OpenTransferId : std::uint32_t {};     // OpenTransfers::pool

// A vector whose positions are of one type of index. Another one does not compile.
template <class Id, class T>
class Table : public std::vector<T> {
public:
    using std::vector<T>::vector;

    T& operator[](Id id) { return std::vector<T>::operator[](index(id)); }
    const T& operator[](Id id) const { return std::vector<T>::operator[](index(id)); }
    Id next_id() const { return to_id<Id>(this->size()); }
};

}  // namespace orrery
