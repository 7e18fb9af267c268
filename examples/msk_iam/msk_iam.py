"""Logs in to Amazon MSK by IAM: a token is a signed URL, which is valid for a quarter of an hour."""

import os
from collections.abc import Mapping

from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
from botocore.exceptions import BotoCoreError, ClientError

from connect_dagster.plugin import BearerToken, ConfigError, ConnectError, JwtRetriever


class MskIam(JwtRetriever):
    """Signs with the credentials that boto3 finds, or those of a profile or role.

    Options of the login module: ``region``, by default that of ``AWS_REGION``; ``profile`` or ``roleArn``.
    """

    def configure(self, config: Mapping[str, str], options: Mapping[str, str]) -> None:
        region = options.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        if not region:
            raise ConfigError('MskIam needs a region: set AWS_REGION, or region="eu-central-1" in sasl.jaas.config')
        self._region = region
        self._profile, self._role = options.get("profile"), options.get("roleArn")

    def retrieve(self) -> BearerToken:
        try:
            token, ends = self._signed()
        except (BotoCoreError, ClientError) as error:
            raise ConnectError(f"AWS gives no credentials to sign with: {error}") from error
        except (AttributeError, ValueError) as error:  # the signer's, where boto3 finds none
            raise ConnectError("boto3 finds no credentials of AWS to sign with") from error
        return BearerToken(token, ends / 1000, "msk-iam")

    def _signed(self) -> tuple[str, int]:
        """Return a token and its end in milliseconds since 1970."""
        signed: tuple[str, int]
        if self._profile:
            signed = MSKAuthTokenProvider.generate_auth_token_from_profile(self._region, self._profile)
        elif self._role:
            signed = MSKAuthTokenProvider.generate_auth_token_from_role_arn(self._region, self._role)
        else:
            signed = MSKAuthTokenProvider.generate_auth_token(self._region)
        return signed
