// What a completion queue's tag points to: whom to tell.
#ifndef KERNELWIRE_SERVER_RPC_EVENT_H_
#define KERNELWIRE_SERVER_RPC_EVENT_H_

namespace kernelwire {

/// Lives inside its owner, at a constant address, as long as gRPC may hand it back.
class Event {
 public:
  /// `Member` is `void (Owner::*)(bool ok)`.
  template <auto Member, typename Owner>
  static Event To(Owner* owner) {
    return Event([](void* to, bool ok) { (static_cast<Owner*>(to)->*Member)(ok); }, owner);
  }

  void Happen(bool ok) { happen_(owner_, ok); }

 private:
  Event(void (*happen)(void*, bool), void* owner) : happen_(happen), owner_(owner) {}

  void (*happen_)(void*, bool);
  void* owner_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_EVENT_H_
