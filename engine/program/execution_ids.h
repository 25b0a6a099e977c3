// SPDX-License-Identifier: Apache-2.0
// Indices of the simulated executor, each its own type, and tables that accept one type of index.
#pragma once

#include <vector>

#include "engine/base/ids.h"

namespace orrery {

enum class RankClassId : std::uint32_t {};        // Quotient::ranks
enum class RankStreamId : std::uint32_t {};       // RankStates::streams: of a rank class
enum class LockstepGroupId : std::uint32_t {};    // LockstepGroups::groups
enum class ConnectionId : std::uint32_t {};       // Transfers::connections
enum class ConnectionClassId : std::uint32_t {};  // Quotient::connections
enum class OpenTransferId : std::uint32_t {};     // OpenTransfers::pool

// The range of all indices below a bound.
template <class Id>
class IdRange {
public:
    class Iterator {
    public:
        explicit Iterator(std::size_t at) : at_(at) {}
        Id operator*() const { return to_id<Id>(at_); }
        Iterator& operator++() {
            ++at_;
            return *this;
        }
        bool operator==(const Iterator&) const = default;

    private:
        std::size_t at_;
    };

    explicit IdRange(std::size_t size) : size_(size) {}
    Iterator begin() const { return Iterator{0}; }
    Iterator end() const { return Iterator{size_}; }

private:
    std::size_t size_;
};

// A vector with one type of index. Another type does not compile.
template <class Id, class T>
class Table : public std::vector<T> {
public:
    using std::vector<T>::vector;

    T& operator[](Id id) { return std::vector<T>::operator[](index(id)); }
    const T& operator[](Id id) const { return std::vector<T>::operator[](index(id)); }
    IdRange<Id> ids() const { return IdRange<Id>{this->size()}; }
    Id next_id() const { return to_id<Id>(this->size()); }
};

}  // namespace orrery
