// How the process's heap is set up.
#ifndef KERNELWIRE_SERVER_HEAP_H_
#define KERNELWIRE_SERVER_HEAP_H_

namespace kernelwire {

/// Makes the C library's heap give up some speed in use by many threads for memory that settles. By default every
/// thread may get an arena of its own, and each arena keeps the most that it ever held at one time: a server that has
/// been through enough bursts holds several times what it needs. One arena holds that maximum once, blocks of 128 KiB
/// and more go back to the system when they are freed, and so does the free end of the heap. Tensors are not touched by
/// this: they lie in staging memory.
///
/// To be called before any other thread runs. Does nothing where the C library is not glibc.
void SetUpHeap();

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_HEAP_H_
