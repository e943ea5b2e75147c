//! Tests of signatures: the published test vector, rotation, timestamps, and forged requests.

use proptest::prelude::*;

use super::*;

/// The test vector of the libraries of Standard Webhooks.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const PUBLISHED_ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const PUBLISHED_AT: i64 = 1_614_265_330;
const PUBLISHED_BODY: &[u8] = br#"{"test": 2432232314}"#;
const PUBLISHED_SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

fn secret() -> SigningSecret {
    SECRET.parse().unwrap()
}

fn other_secret() -> SigningSecret {
    "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD".parse().unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_microsecond(seconds * 1_000_000).unwrap()
}

fn check_parts(
    secrets: &[&SigningSecret],
    (id, timestamp, signature): (&str, &str, &str),
    body: &[u8],
    now: Timestamp,
) -> Result<VerifiedRequest, VerifyError> {
    let parts = SignatureHeaders {
        id: id.as_bytes(),
        timestamp: timestamp.as_bytes(),
        signature: signature.as_bytes(),
    };
    check(secrets, parts, body, now)
}

fn check_published(signature: &str) -> Result<VerifiedRequest, VerifyError> {
    let seconds = PUBLISHED_AT.to_string();
    let parts = (PUBLISHED_ID, seconds.as_str(), signature);
    check_parts(&[&secret()], parts, PUBLISHED_BODY, at(PUBLISHED_AT))
}

#[test]
fn published_signature_vector_is_reproduced() {
    let signed = sign(&secret(), PUBLISHED_ID, PUBLISHED_AT, PUBLISHED_BODY);
    assert_eq!(signed, PUBLISHED_SIGNATURE);
    let verified = check_published(PUBLISHED_SIGNATURE).unwrap();
    assert_eq!(verified.id, PUBLISHED_ID);
    assert_eq!(verified.timestamp, PUBLISHED_AT);
}

#[test]
fn one_valid_signature_among_others_is_accepted() {
    let wrong = sign(&other_secret(), PUBLISHED_ID, PUBLISHED_AT, PUBLISHED_BODY);
    for signatures in [
        format!("{wrong} {PUBLISHED_SIGNATURE}"),
        format!("{PUBLISHED_SIGNATURE} {wrong}"),
        format!("v1a,hnO3f9T8Ytu9 v2,x {PUBLISHED_SIGNATURE}"),
        format!("v1,invalid {PUBLISHED_SIGNATURE}"),
        format!(" {PUBLISHED_SIGNATURE} "),
    ] {
        assert!(check_published(&signatures).is_ok(), "{signatures}");
    }
}

#[test]
fn invalid_signature_header_is_refused_with_its_reason() {
    let wrong = sign(&other_secret(), PUBLISHED_ID, PUBLISHED_AT, PUBLISHED_BODY);
    let many = [PUBLISHED_SIGNATURE; MAX_SIGNATURES + 1].join(" ");
    let bare = PUBLISHED_SIGNATURE.strip_prefix(SIGNATURE_PREFIX).unwrap();
    for (signatures, refusal) in [
        ("", VerifyError::NoSignature),
        (bare, VerifyError::NoSignature),
        ("v1a,K5oZfzN95Z9UVu1E", VerifyError::NoSignature),
        ("V1,K5oZfzN95Z9UVu1E", VerifyError::NoSignature),
        ("v1,", VerifyError::InvalidSignature),
        ("v1,AAAA", VerifyError::InvalidSignature),
        (&wrong, VerifyError::InvalidSignature),
        (&PUBLISHED_SIGNATURE[..46], VerifyError::InvalidSignature),
        (&many, VerifyError::TooManySignatures),
    ] {
        assert_eq!(check_published(signatures), Err(refusal), "{signatures}");
    }
}

#[test]
fn signature_by_old_or_new_secret_is_accepted_during_rotation() {
    let (old, new) = (secret(), other_secret());
    let seconds = PUBLISHED_AT.to_string();
    let signed = |secret| sign(secret, "m", PUBLISHED_AT, b"x");
    let is_right = |secrets: &[&SigningSecret], signature: &str| {
        check_parts(secrets, ("m", &seconds, signature), b"x", at(PUBLISHED_AT)).is_ok()
    };
    for (secrets, by_old, by_new) in [
        (&[&old][..], true, false),
        (&[&new, &old], true, true),
        (&[&new], false, true),
        (&[], false, false),
    ] {
        assert_eq!(is_right(secrets, &signed(&old)), by_old);
        assert_eq!(is_right(secrets, &signed(&new)), by_new);
    }
    let both = sign_with_all(&[&new, &old], "m", PUBLISHED_AT, b"x");
    assert!(is_right(&[&old], &both) && is_right(&[&new], &both));
}

#[test]
fn webhook_timestamp_is_accepted_within_five_minutes() {
    let of = |timestamp: &str, now: i64| {
        let seconds = timestamp.parse().unwrap_or(0);
        let signature = sign(&secret(), "m", seconds, b"");
        check_parts(&[&secret()], ("m", timestamp, &signature), b"", at(now)).map(|it| it.timestamp)
    };
    let now = PUBLISHED_AT;
    for (distance, expected) in [
        (-301, Err(VerifyError::TooOld)),
        (-300, Ok(now - 300)),
        (300, Ok(now + 300)),
        (301, Err(VerifyError::TooNew)),
    ] {
        assert_eq!(
            of(&(now + distance).to_string(), now),
            expected,
            "{distance}"
        );
    }
    // The header has whole seconds, so a fraction of a second beyond the tolerance is accepted.
    let late = Timestamp::from_microsecond((now + 300) * 1_000_000 + 999_999).unwrap();
    let signature = sign(&secret(), "m", now, b"");
    let parts = ("m", now.to_string());
    assert!(check_parts(&[&secret()], (parts.0, &parts.1, &signature), b"", late).is_ok());
    for text in [
        "",
        "now",
        "-1614265330",
        "+1614265330",
        " 1614265330",
        "1614265330.0",
        "0x6037c0f2",
        "9999999999999",
    ] {
        assert_eq!(
            of(text, now),
            Err(VerifyError::InvalidTimestamp),
            "{text:?}"
        );
    }
}

#[test]
fn webhook_id_with_dot_or_invalid_characters_is_refused() {
    // Both would be signed as `m.1614265330.1614265330.x`.
    let signature = sign(&secret(), "m", PUBLISHED_AT, b"1614265330.x");
    let seconds = PUBLISHED_AT.to_string();
    let moved = ("m.1614265330", seconds.as_str(), signature.as_str());
    let refused = check_parts(&[&secret()], moved, b"x", at(PUBLISHED_AT));
    assert_eq!(refused, Err(VerifyError::InvalidId));
    let long = "x".repeat(limits::WEBHOOK_ID_BYTES + 1);
    for id in ["", "a b", "a\nb", "é", &long] {
        let signature = sign(&secret(), id, PUBLISHED_AT, b"x");
        let parts = (id, seconds.as_str(), signature.as_str());
        let refused = check_parts(&[&secret()], parts, b"x", at(PUBLISHED_AT));
        assert_eq!(refused, Err(VerifyError::InvalidId), "{id:?}");
    }
}

#[test]
fn webhook_verify_error_reveals_no_valid_signature() {
    let wrong = sign(&other_secret(), PUBLISHED_ID, PUBLISHED_AT, PUBLISHED_BODY);
    let text = check_published(&wrong).unwrap_err().to_string();
    assert!(!text.contains(&PUBLISHED_SIGNATURE[3..20]), "{text}");
    assert!(!text.contains(PUBLISHED_ID), "{text}");
}

proptest! {
    #[test]
    fn flipped_bit_in_body_or_signature_is_refused(
        body in prop::collection::vec(any::<u8>(), 1..200),
        bit in any::<prop::sample::Index>(),
    ) {
        let signature = sign(&secret(), "msg_1", PUBLISHED_AT, &body);
        let seconds = PUBLISHED_AT.to_string();
        let now = at(PUBLISHED_AT);
        let parts = ("msg_1", seconds.as_str(), signature.as_str());
        prop_assert!(check_parts(&[&secret()], parts, &body, now).is_ok());

        let mut other_body = body.clone();
        let at = bit.index(body.len() * 8);
        other_body[at / 8] ^= 1 << (at % 8);
        prop_assert_eq!(check_parts(&[&secret()], parts, &other_body, now), Err(VerifyError::InvalidSignature));

        let mut mac = STANDARD.decode(&signature[3..]).unwrap();
        let at = bit.index(mac.len() * 8);
        mac[at / 8] ^= 1 << (at % 8);
        let flipped = format!("v1,{}", STANDARD.encode(mac));
        let parts = ("msg_1", seconds.as_str(), flipped.as_str());
        prop_assert_eq!(check_parts(&[&secret()], parts, &body, now), Err(VerifyError::InvalidSignature));
    }

    #[test]
    fn arbitrary_webhook_headers_never_verify_or_panic(
        id in prop::collection::vec(any::<u8>(), 0..300),
        timestamp in prop::collection::vec(any::<u8>(), 0..20),
        signature in prop::collection::vec(any::<u8>(), 0..300),
        body in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let parts = SignatureHeaders { id: &id, timestamp: &timestamp, signature: &signature };
        prop_assert!(check(&[&secret()], parts, &body, at(PUBLISHED_AT)).is_err());
    }
}
