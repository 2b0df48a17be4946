package org.nvmf4j.roce.rc;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.nvmf4j.verbs.SendWorkRequest;

/** Marks work requests inline as the verbs core does when they are posted through it. */
final class InlineMark {
    private static final MethodHandle SETTER = find();

    private InlineMark() {}

    private static MethodHandle find() {
        try {
            return MethodHandles.privateLookupIn(SendWorkRequest.class, MethodHandles.lookup())
                    .findVirtual(SendWorkRequest.class, "inline", MethodType.methodType(void.class, boolean.class));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    static void set(SendWorkRequest request, boolean inline) {
        try {
            SETTER.invokeExact(request, inline);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
