// A doubly linked list through its elements: joining and leaving allocate nothing and take constant time.
#ifndef KERNELWIRE_SERVER_RPC_INTRUSIVE_LIST_H_
#define KERNELWIRE_SERVER_RPC_INTRUSIVE_LIST_H_

#include <cstddef>

namespace kernelwire {

template <typename T>
class IntrusiveList;

/// Base of an element; in one list at most. T derives from ListLink<T>.
template <typename T>
class ListLink {
 public:
  const IntrusiveList<T>* list() const { return list_; }

 private:
  friend class IntrusiveList<T>;
  IntrusiveList<T>* list_ = nullptr;
  T* previous_ = nullptr;
  T* next_ = nullptr;
};

/// Not thread-safe; owns nothing.
template <typename T>
class IntrusiveList {
 public:
  bool empty() const { return front_ == nullptr; }
  std::size_t size() const { return size_; }
  T* front() const { return front_; }
  /// The element after `element`, or null.
  static T* Next(const T* element) { return element->ListLink<T>::next_; }

  /// Requires: the element is in no list.
  void PushBack(T* element) {
    ListLink<T>& link = *element;
    link.list_ = this;
    link.previous_ = back_;
    link.next_ = nullptr;
    (back_ == nullptr ? front_ : LinkOf(back_).next_) = element;
    back_ = element;
    ++size_;
  }

  /// Requires: the element is in this list.
  void Remove(T* element) {
    ListLink<T>& link = *element;
    (link.previous_ == nullptr ? front_ : LinkOf(link.previous_).next_) = link.next_;
    (link.next_ == nullptr ? back_ : LinkOf(link.next_).previous_) = link.previous_;
    link = ListLink<T>{};
    --size_;
  }

 private:
  static ListLink<T>& LinkOf(T* element) { return *element; }

  T* front_ = nullptr;
  T* back_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_INTRUSIVE_LIST_H_
