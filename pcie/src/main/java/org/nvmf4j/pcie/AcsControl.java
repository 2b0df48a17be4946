package org.nvmf4j.pcie;

/**
 * What a function's Access Control Services do (PCI Express Base Specification, ACS extended capability).
 *
 * @param state whether the function has them, as far as we may see
 * @param control the ACS Control register; 0 unless present
 */
public record AcsControl(State state, int control) {
    private static final int REQUEST_REDIRECT = 1 << 2;
    private static final int COMPLETION_REDIRECT = 1 << 3;
    private static final int UPSTREAM_FORWARDING = 1 << 4;
    private static final int EGRESS_CONTROL = 1 << 5;

    /** Whether a function has the capability. */
    public enum State {
        /** The configuration space could not be read far enough: without privileges Linux shows its first 64 bytes. */
        UNKNOWN,
        /** The function has no such capability. */
        ABSENT,
        /** The function has the capability, and {@link AcsControl#control} is what it is set to. */
        PRESENT
    }

    static final AcsControl UNKNOWN = new AcsControl(State.UNKNOWN, 0);
    static final AcsControl ABSENT = new AcsControl(State.ABSENT, 0);

    /** Whether it is not known what the function does. */
    public boolean isUnknown() {
        return state == State.UNKNOWN;
    }

    /** Whether requests of one peer to another are sent to the root complex. */
    public boolean requestRedirect() {
        return (control & REQUEST_REDIRECT) != 0;
    }

    /** Whether completions from one peer to another are sent to the root complex. */
    public boolean completionRedirect() {
        return (control & COMPLETION_REDIRECT) != 0;
    }

    /** Whether what comes back from upstream for a peer on the same port is forwarded upstream. */
    public boolean upstreamForwarding() {
        return (control & UPSTREAM_FORWARDING) != 0;
    }

    /** Whether an egress control vector decides which peers may be reached. */
    public boolean egressControl() {
        return (control & EGRESS_CONTROL) != 0;
    }

    /** Whether traffic between peers does not take the short way through this function, in Linux's judgement. */
    public boolean redirects() {
        return requestRedirect() || completionRedirect() || egressControl();
    }
}
